# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_parfs_global_optspecs
    string join \n h/help V/version
end

function __fish_parfs_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_parfs_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_parfs_using_subcommand
    set -l cmd (__fish_parfs_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c parfs -n "__fish_parfs_needs_command" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_needs_command" -s V -l version -d 'Print version'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "partar" -d 'Makes, lists, compares and extracts tar archives as GNU tar does, with many file operations in flight'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "tar" -d 'Makes, lists, compares and extracts tar archives as GNU tar does, with many file operations in flight'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "parcp" -d 'Copies trees with many NFS operations in flight, as cp -a or rsync do with one'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "cp" -d 'Copies trees with many NFS operations in flight, as cp -a or rsync do with one'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "parrm" -d 'Removes trees with many NFS operations in flight, as rm -r does with one'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "rm" -d 'Removes trees with many NFS operations in flight, as rm -r does with one'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "plan" -d 'Tells what a job will cost and how long it will take, before it runs'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "doctor" -d 'Reads this host\'s NFS mounts, network, disks, processors and memory, and says what holds them back'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "load" -d 'Runs fio\'s command lines and job files on files and on NFS, over one or many mount targets'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "parload" -d 'Runs fio\'s command lines and job files on files and on NFS, over one or many mount targets'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "sim" -d 'Serves NFSv3 on the loopback as OCI mount targets would, with their latency, price list and ceilings'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "demo" -d 'Extracts a patch archive of many small files onto simulated mount targets: serially, onto one, onto four'
complete -c parfs -n "__fish_parfs_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s f -l file -d 'The archive; \'-\' or no -f at all is standard input or output' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s C -l directory -l cd -d 'Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s I -l use-compress-program -d 'Through this command, with its arguments; when reading with -d' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l level -d 'How hard to compress, in the codec\'s own levels' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l owner -d 'Store: this owner for all, as NAME, NUMBER or NAME:NUMBER' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l group -d 'Store: this group for all' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l mode -d 'Store: change the modes, as chmod does' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l mtime -d 'Store: this time for all, or that of a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l xattrs-include -d 'Only extended attributes whose names match [default: user.* when extracting, all when storing]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l xattrs-exclude -d 'No extended attributes whose names match' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l exclude -d 'Leave out members that match the shell pattern' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s X -l exclude-from -d 'Leave out members that match a pattern of FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s T -l files-from -d 'Names from FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l add-file -d 'A name, also one that begins with a dash' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l transform -l xform -d 'Change names by sed\'s s/PATTERN/WITH/FLAGS' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l strip-components -d 'Take N leading directories off the names' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l one-top-level -d 'Extract into a directory of the archive\'s name, or DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s N -l newer -d 'Only files newer than DATE, or than a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l newer-mtime -d 'The same, whatever else of them has changed later' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l index -d 'Keep where members are in FILE, and read only what is asked for' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s H -l format -d 'ustar, gnu or pax [default: pax, where ustar does not do]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l sort -d 'Members of a directory by \'name\', or \'none\' (default): as it lists them' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s V -l label -d 'Begin with a volume label' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s b -l blocking-factor -d 'Pad to records of N times 512 bytes [default: 20]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l record-size -d 'Pad to records of SIZE bytes' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l bwlimit -d 'Stay below SIZE bytes a second on each mount target, and on each file system of this host\'s disks (64k, 10MiB, 1GB)' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s c -l create -d 'Make an archive'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s x -l extract -l get -d 'Extract members'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s t -l list -d 'List members'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s d -l diff -d 'Compare members with files'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s r -l append -d 'Append files to an archive that is there'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s u -l update -d 'Append files that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s z -l gzip -d 'gzip'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s j -l bzip2 -d 'bzip2'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s J -l xz -d 'xz'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l zstd -d 'zstd'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l lz4 -d 'lz4'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s a -l auto-compress -d 'By the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-auto-compress -d 'Not by the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s p -l preserve-permissions -d 'Exactly the archive\'s modes (default for root); without it the umask is taken off'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-same-permissions -d 'Take the umask off the modes (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l same-owner -d 'The archive\'s owners and groups (default for root)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-same-owner -d 'Own what is extracted (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s o -d 'When extracting: as --no-same-owner'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l numeric-owner -d 'Owners by numbers, not by names'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s m -l touch -d 'Leave the modification times at the time of extraction'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l clamp-mtime -d 'Store: --mtime only for what is later'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l xattrs -d 'Extended attributes'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-xattrs -d 'No extended attributes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l acls -d 'Access control lists'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-acls -d 'No access control lists (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l selinux -d 'SELinux contexts'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-selinux -d 'No SELinux contexts (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s S -l sparse -d 'Leave out holes; those of an archive are kept in any case'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s k -l keep-old-files -d 'Keep them; each is an error'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l skip-old-files -d 'Keep them silently'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l keep-newer-files -d 'Keep those that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l overwrite -d 'Write into them'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s U -l unlink-first -d 'Remove them first'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l resume -d 'Go on after an interrupted run: skip files whose size and time are the archive\'s, links and devices likewise'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l exclude-vcs -d 'Leave out what version control systems keep for themselves'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l exclude-backups -d 'Leave out backups and lock files of editors'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l null -d 'Names of the lists that follow end in NULs and are nothing but names'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-null -d 'Names of the lists that follow end in newlines (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l verbatim-files-from -d 'Lines of the lists that follow are names, also those that begin with a dash'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-verbatim-files-from -d 'A line \'-C DIR\' of a list says where the names behind it are (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l unquote -d 'Backslashes in names begin escapes, as in \\n (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-unquote -d 'Backslashes in names are themselves'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l recursion -d 'What is beneath the directories that follow, too (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-recursion -d 'The directories that follow, without what is beneath them'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l absolute-names -d 'Keep a leading / of names (-c, -t)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s i -l ignore-zeros -d 'Read on after blocks of zeros (joined archives)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s B -l read-full-records -d 'Pipes are always read to full records'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l delay-directory-restore -d 'Directories get their times at the end in any case'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s n -l seek -d 'Files are sought in where they can be in any case'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l force-local -d 'The archive is a file of this host also where its name has a colon'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l wildcards -d 'Names are shell patterns (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-wildcards -d 'Names and patterns are what they are (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l anchored -d 'Patterns begin where names begin (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-anchored -d 'Patterns begin after any slash (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l ignore-case -d 'Upper and lower case are the same'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-ignore-case -d 'Upper and lower case differ (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l wildcards-match-slash -d 'Wildcards match slashes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-wildcards-match-slash -d 'Wildcards match no slash'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l posix -d 'The same as --format=pax'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l one-file-system -d 'Stay in the file system that a name is in'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s h -l dereference -d 'Store what symbolic links point at'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l hard-dereference -d 'Store each name of a file as a file of its own'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s v -l verbose -d 'Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -s O -l to-stdout -d 'Extract files to standard output'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l full-time -d 'List times in full'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l utc -d 'List times in UTC'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l totals -d 'Print the bytes of the archive and the speed at the end'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand partar" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s f -l file -d 'The archive; \'-\' or no -f at all is standard input or output' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s C -l directory -l cd -d 'Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s I -l use-compress-program -d 'Through this command, with its arguments; when reading with -d' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l level -d 'How hard to compress, in the codec\'s own levels' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l owner -d 'Store: this owner for all, as NAME, NUMBER or NAME:NUMBER' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l group -d 'Store: this group for all' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l mode -d 'Store: change the modes, as chmod does' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l mtime -d 'Store: this time for all, or that of a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l xattrs-include -d 'Only extended attributes whose names match [default: user.* when extracting, all when storing]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l xattrs-exclude -d 'No extended attributes whose names match' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l exclude -d 'Leave out members that match the shell pattern' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s X -l exclude-from -d 'Leave out members that match a pattern of FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s T -l files-from -d 'Names from FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l add-file -d 'A name, also one that begins with a dash' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l transform -l xform -d 'Change names by sed\'s s/PATTERN/WITH/FLAGS' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l strip-components -d 'Take N leading directories off the names' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l one-top-level -d 'Extract into a directory of the archive\'s name, or DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s N -l newer -d 'Only files newer than DATE, or than a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l newer-mtime -d 'The same, whatever else of them has changed later' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l index -d 'Keep where members are in FILE, and read only what is asked for' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s H -l format -d 'ustar, gnu or pax [default: pax, where ustar does not do]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l sort -d 'Members of a directory by \'name\', or \'none\' (default): as it lists them' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s V -l label -d 'Begin with a volume label' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s b -l blocking-factor -d 'Pad to records of N times 512 bytes [default: 20]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l record-size -d 'Pad to records of SIZE bytes' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l bwlimit -d 'Stay below SIZE bytes a second on each mount target, and on each file system of this host\'s disks (64k, 10MiB, 1GB)' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s c -l create -d 'Make an archive'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s x -l extract -l get -d 'Extract members'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s t -l list -d 'List members'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s d -l diff -d 'Compare members with files'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s r -l append -d 'Append files to an archive that is there'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s u -l update -d 'Append files that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s z -l gzip -d 'gzip'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s j -l bzip2 -d 'bzip2'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s J -l xz -d 'xz'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l zstd -d 'zstd'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l lz4 -d 'lz4'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s a -l auto-compress -d 'By the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-auto-compress -d 'Not by the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s p -l preserve-permissions -d 'Exactly the archive\'s modes (default for root); without it the umask is taken off'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-same-permissions -d 'Take the umask off the modes (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l same-owner -d 'The archive\'s owners and groups (default for root)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-same-owner -d 'Own what is extracted (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s o -d 'When extracting: as --no-same-owner'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l numeric-owner -d 'Owners by numbers, not by names'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s m -l touch -d 'Leave the modification times at the time of extraction'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l clamp-mtime -d 'Store: --mtime only for what is later'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l xattrs -d 'Extended attributes'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-xattrs -d 'No extended attributes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l acls -d 'Access control lists'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-acls -d 'No access control lists (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l selinux -d 'SELinux contexts'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-selinux -d 'No SELinux contexts (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s S -l sparse -d 'Leave out holes; those of an archive are kept in any case'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s k -l keep-old-files -d 'Keep them; each is an error'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l skip-old-files -d 'Keep them silently'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l keep-newer-files -d 'Keep those that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l overwrite -d 'Write into them'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s U -l unlink-first -d 'Remove them first'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l resume -d 'Go on after an interrupted run: skip files whose size and time are the archive\'s, links and devices likewise'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l exclude-vcs -d 'Leave out what version control systems keep for themselves'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l exclude-backups -d 'Leave out backups and lock files of editors'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l null -d 'Names of the lists that follow end in NULs and are nothing but names'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-null -d 'Names of the lists that follow end in newlines (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l verbatim-files-from -d 'Lines of the lists that follow are names, also those that begin with a dash'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-verbatim-files-from -d 'A line \'-C DIR\' of a list says where the names behind it are (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l unquote -d 'Backslashes in names begin escapes, as in \\n (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-unquote -d 'Backslashes in names are themselves'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l recursion -d 'What is beneath the directories that follow, too (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-recursion -d 'The directories that follow, without what is beneath them'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l absolute-names -d 'Keep a leading / of names (-c, -t)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s i -l ignore-zeros -d 'Read on after blocks of zeros (joined archives)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s B -l read-full-records -d 'Pipes are always read to full records'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l delay-directory-restore -d 'Directories get their times at the end in any case'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s n -l seek -d 'Files are sought in where they can be in any case'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l force-local -d 'The archive is a file of this host also where its name has a colon'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l wildcards -d 'Names are shell patterns (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-wildcards -d 'Names and patterns are what they are (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l anchored -d 'Patterns begin where names begin (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-anchored -d 'Patterns begin after any slash (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l ignore-case -d 'Upper and lower case are the same'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-ignore-case -d 'Upper and lower case differ (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l wildcards-match-slash -d 'Wildcards match slashes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-wildcards-match-slash -d 'Wildcards match no slash'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l posix -d 'The same as --format=pax'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l one-file-system -d 'Stay in the file system that a name is in'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s h -l dereference -d 'Store what symbolic links point at'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l hard-dereference -d 'Store each name of a file as a file of its own'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s v -l verbose -d 'Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -s O -l to-stdout -d 'Extract files to standard output'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l full-time -d 'List times in full'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l utc -d 'List times in UTC'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l totals -d 'Print the bytes of the archive and the speed at the end'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand tar" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s t -l target-directory -d 'Copy all SRC below DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l files-from -d 'Copy only the paths listed in FILE (\'-\': standard input), one a line, relative to the one SRC' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l preserve -d 'mode, ownership, timestamps, links, xattr, all [default with no LIST: the first three]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l no-preserve -d 'Leave these attributes to be those of new files' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l reflink -d 'Share blocks where the file systems can: auto (default) or never' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l sparse -d 'Holes: auto (where the source has some, default), always (for every block of zeros) or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s u -l update -d 'Leave those alone that are newer than the source\'s: older (default with no WHEN); all of them: none, as -n; or none: all' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l exclude -d 'Leave out what matches, and what is below it, on both sides' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l exclude-from -d 'Leave out what matches a pattern of FILE, one a line; lines that begin with \'#\' or \';\' are comments' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l include -d 'Do not leave out what matches; what is in it is decided by its own name' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l include-from -d 'Do not leave out what matches a pattern of FILE' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l max-delete -d 'Remove no more than N objects; if there are more, that is told and the exit status is 1' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l bwlimit -d 'Write no more than RATE a second to all of DST\'s targets together: KiB, or with a suffix as 10M, 1.5G, 64KB' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l info -d 'progress2 is --progress, stats is --stats' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s 0 -l null -l from0 -d 'The paths of --files-from end in NULs, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s a -l archive -d 'All of them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s r -l recursive -d 'Trees (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s p -d 'Modes, owners and times (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s d -d 'Symbolic and hard links as links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l restore -d '-a -H -x: a file system as it was'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s H -l hard-links -d 'Hard links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s X -l xattrs -d 'Extended attributes (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s A -l acls -d 'POSIX ACLs (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s x -l one-file-system -d 'Make directories of other file systems than SRC\'s, and do not enter them'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s S -d '--sparse=always'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l atomic -d 'Write files under a temporary name and rename them when they are complete'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s c -l checksum -d 'Compare their bytes'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l size-only -d 'Compare their sizes only'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s I -l ignore-times -d 'Copy all of them again'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s n -l no-clobber -d 'Leave all of them alone'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l resume -d 'Go on after an interrupted run (default: any run does)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l delete -d 'Remove from DST what SRC lacks, after the copies, unless SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l delete-excluded -d 'Also remove what SRC lacks and the patterns leave out (implies --delete)'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l ignore-errors -d 'Remove also when SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l dry-run -d 'Change nothing; show what would be done, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l verify -d 'Read back what was written and compare'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l verify-only -d 'Change nothing; compare data and attributes, and list the differences. Options that say how files are written may stay'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -s v -l verbose -d 'List on stdout what is copied and deleted, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l stats -d 'Print what the run did and cost at the end'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand parcp" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s t -l target-directory -d 'Copy all SRC below DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l files-from -d 'Copy only the paths listed in FILE (\'-\': standard input), one a line, relative to the one SRC' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l preserve -d 'mode, ownership, timestamps, links, xattr, all [default with no LIST: the first three]' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l no-preserve -d 'Leave these attributes to be those of new files' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l reflink -d 'Share blocks where the file systems can: auto (default) or never' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l sparse -d 'Holes: auto (where the source has some, default), always (for every block of zeros) or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s u -l update -d 'Leave those alone that are newer than the source\'s: older (default with no WHEN); all of them: none, as -n; or none: all' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l exclude -d 'Leave out what matches, and what is below it, on both sides' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l exclude-from -d 'Leave out what matches a pattern of FILE, one a line; lines that begin with \'#\' or \';\' are comments' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l include -d 'Do not leave out what matches; what is in it is decided by its own name' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l include-from -d 'Do not leave out what matches a pattern of FILE' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l max-delete -d 'Remove no more than N objects; if there are more, that is told and the exit status is 1' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l bwlimit -d 'Write no more than RATE a second to all of DST\'s targets together: KiB, or with a suffix as 10M, 1.5G, 64KB' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l info -d 'progress2 is --progress, stats is --stats' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s 0 -l null -l from0 -d 'The paths of --files-from end in NULs, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s a -l archive -d 'All of them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s r -l recursive -d 'Trees (default)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s p -d 'Modes, owners and times (default)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s d -d 'Symbolic and hard links as links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l restore -d '-a -H -x: a file system as it was'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s H -l hard-links -d 'Hard links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s X -l xattrs -d 'Extended attributes (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s A -l acls -d 'POSIX ACLs (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s x -l one-file-system -d 'Make directories of other file systems than SRC\'s, and do not enter them'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s S -d '--sparse=always'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l atomic -d 'Write files under a temporary name and rename them when they are complete'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s c -l checksum -d 'Compare their bytes'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l size-only -d 'Compare their sizes only'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s I -l ignore-times -d 'Copy all of them again'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s n -l no-clobber -d 'Leave all of them alone'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l resume -d 'Go on after an interrupted run (default: any run does)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l delete -d 'Remove from DST what SRC lacks, after the copies, unless SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l delete-excluded -d 'Also remove what SRC lacks and the patterns leave out (implies --delete)'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l ignore-errors -d 'Remove also when SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l dry-run -d 'Change nothing; show what would be done, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l verify -d 'Read back what was written and compare'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l verify-only -d 'Change nothing; compare data and attributes, and list the differences. Options that say how files are written may stay'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -s v -l verbose -d 'List on stdout what is copied and deleted, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l stats -d 'Print what the run did and cost at the end'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand cp" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l interactive -d 'never, or once (-I)' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l preserve-root -d '\'/\' is never removed (default); with =all, nor is any operand on another device than its parent, nor its contents' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l exclude -d 'Leave what matches the shell pattern alone, and the directories it is in' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l exclude-from -d 'Leave what matches a pattern of FILE alone, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l older-than -d 'Only what was modified before: 2w, 30d, 12h, 45m, 90s ago, or YYYY-MM-DD[ HH:MM[:SS]] in UTC' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l files-from -d 'Remove the paths listed in FILE (\'-\': standard input), one a line, relative to DIR or the working directory' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s r -l recursive -d 'Remove directories with what is in them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s f -l force -d 'What is not there is no error; takes -I back'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s d -l dir -d 'Remove directories only when they are empty, unless -r is given; in a list, what is in one may come before it'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l contents -d 'Remove what is in the operands, and keep them'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s I -d 'Ask once before more than three operands or a tree are removed'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s x -l one-file-system -d 'Leave directories of other file systems than the operand\'s alone'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l dry-run -d 'Remove nothing; show what would be removed, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s 0 -l null -d 'The paths of --files-from end in NULs, the last one too, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -s v -l verbose -d 'List on stdout what is removed, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand parrm" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l interactive -d 'never, or once (-I)' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l preserve-root -d '\'/\' is never removed (default); with =all, nor is any operand on another device than its parent, nor its contents' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l exclude -d 'Leave what matches the shell pattern alone, and the directories it is in' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l exclude-from -d 'Leave what matches a pattern of FILE alone, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l older-than -d 'Only what was modified before: 2w, 30d, 12h, 45m, 90s ago, or YYYY-MM-DD[ HH:MM[:SS]] in UTC' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l files-from -d 'Remove the paths listed in FILE (\'-\': standard input), one a line, relative to DIR or the working directory' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s r -l recursive -d 'Remove directories with what is in them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s f -l force -d 'What is not there is no error; takes -I back'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s d -l dir -d 'Remove directories only when they are empty, unless -r is given; in a list, what is in one may come before it'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l contents -d 'Remove what is in the operands, and keep them'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s I -d 'Ask once before more than three operands or a tree are removed'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s x -l one-file-system -d 'Leave directories of other file systems than the operand\'s alone'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l dry-run -d 'Remove nothing; show what would be removed, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s 0 -l null -d 'The paths of --files-from end in NULs, the last one too, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -s v -l verbose -d 'List on stdout what is removed, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand rm" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l targets -d 'Numbers of mount targets' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l latency -d 'Answer time of an idle target [default: measured on the spot]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l profile -d 'Prices and ceilings of a target, as TOML [default: OCI File Storage\'s]' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l scale -d 'Ceilings of a target are the profile\'s times this' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l files -d 'A tree that does not exist, instead of the job\'s own command line: this many files, such as 10M' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l size -d 'Bytes of each of --files' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l per-dir -d 'How many of --files are in a directory' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l explain -d 'Set the forecast beside what a run reported (its --report FILE)' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l svg -d 'Draw IOPS and time against targets into FILE' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l measure -d 'Fail where the answer time cannot be measured, instead of taking the profile\'s (1 ms)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l json -d 'JSON instead of tables'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -l version -d 'Print version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "extract" -d 'What partar -x will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "create" -d 'What partar -c will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "copy" -d 'What parcp will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "remove" -d 'What parrm will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "capacity" -d 'How many mount targets a load of reads and writes needs, and which of their ceilings binds'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "volume" -d 'What block volumes give by size, level, attachment and host, and which mixes reach a goal'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "load" -d 'What a job of parfs load will give, by the number of mount targets, before it runs'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and not __fish_seen_subcommand_from extract create copy remove capacity volume load help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s f -l file -d 'The archive; \'-\' or no -f at all is standard input or output' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s C -l directory -l cd -d 'Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s I -l use-compress-program -d 'Through this command, with its arguments; when reading with -d' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l level -d 'How hard to compress, in the codec\'s own levels' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l owner -d 'Store: this owner for all, as NAME, NUMBER or NAME:NUMBER' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l group -d 'Store: this group for all' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l mode -d 'Store: change the modes, as chmod does' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l mtime -d 'Store: this time for all, or that of a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l xattrs-include -d 'Only extended attributes whose names match [default: user.* when extracting, all when storing]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l xattrs-exclude -d 'No extended attributes whose names match' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l exclude -d 'Leave out members that match the shell pattern' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s X -l exclude-from -d 'Leave out members that match a pattern of FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s T -l files-from -d 'Names from FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l add-file -d 'A name, also one that begins with a dash' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l transform -l xform -d 'Change names by sed\'s s/PATTERN/WITH/FLAGS' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l strip-components -d 'Take N leading directories off the names' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l one-top-level -d 'Extract into a directory of the archive\'s name, or DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s N -l newer -d 'Only files newer than DATE, or than a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l newer-mtime -d 'The same, whatever else of them has changed later' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l index -d 'Keep where members are in FILE, and read only what is asked for' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s H -l format -d 'ustar, gnu or pax [default: pax, where ustar does not do]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l sort -d 'Members of a directory by \'name\', or \'none\' (default): as it lists them' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s V -l label -d 'Begin with a volume label' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s b -l blocking-factor -d 'Pad to records of N times 512 bytes [default: 20]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l record-size -d 'Pad to records of SIZE bytes' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l bwlimit -d 'Stay below SIZE bytes a second on each mount target, and on each file system of this host\'s disks (64k, 10MiB, 1GB)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s c -l create -d 'Make an archive'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s x -l extract -l get -d 'Extract members'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s t -l list -d 'List members'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s d -l diff -d 'Compare members with files'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s r -l append -d 'Append files to an archive that is there'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s u -l update -d 'Append files that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s z -l gzip -d 'gzip'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s j -l bzip2 -d 'bzip2'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s J -l xz -d 'xz'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l zstd -d 'zstd'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l lz4 -d 'lz4'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s a -l auto-compress -d 'By the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-auto-compress -d 'Not by the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s p -l preserve-permissions -d 'Exactly the archive\'s modes (default for root); without it the umask is taken off'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-same-permissions -d 'Take the umask off the modes (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l same-owner -d 'The archive\'s owners and groups (default for root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-same-owner -d 'Own what is extracted (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s o -d 'When extracting: as --no-same-owner'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l numeric-owner -d 'Owners by numbers, not by names'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s m -l touch -d 'Leave the modification times at the time of extraction'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l clamp-mtime -d 'Store: --mtime only for what is later'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l xattrs -d 'Extended attributes'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-xattrs -d 'No extended attributes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l acls -d 'Access control lists'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-acls -d 'No access control lists (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l selinux -d 'SELinux contexts'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-selinux -d 'No SELinux contexts (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s S -l sparse -d 'Leave out holes; those of an archive are kept in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s k -l keep-old-files -d 'Keep them; each is an error'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l skip-old-files -d 'Keep them silently'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l keep-newer-files -d 'Keep those that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l overwrite -d 'Write into them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s U -l unlink-first -d 'Remove them first'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l resume -d 'Go on after an interrupted run: skip files whose size and time are the archive\'s, links and devices likewise'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l exclude-vcs -d 'Leave out what version control systems keep for themselves'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l exclude-backups -d 'Leave out backups and lock files of editors'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l null -d 'Names of the lists that follow end in NULs and are nothing but names'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-null -d 'Names of the lists that follow end in newlines (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l verbatim-files-from -d 'Lines of the lists that follow are names, also those that begin with a dash'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-verbatim-files-from -d 'A line \'-C DIR\' of a list says where the names behind it are (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l unquote -d 'Backslashes in names begin escapes, as in \\n (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-unquote -d 'Backslashes in names are themselves'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l recursion -d 'What is beneath the directories that follow, too (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-recursion -d 'The directories that follow, without what is beneath them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l absolute-names -d 'Keep a leading / of names (-c, -t)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s i -l ignore-zeros -d 'Read on after blocks of zeros (joined archives)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s B -l read-full-records -d 'Pipes are always read to full records'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l delay-directory-restore -d 'Directories get their times at the end in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s n -l seek -d 'Files are sought in where they can be in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l force-local -d 'The archive is a file of this host also where its name has a colon'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l wildcards -d 'Names are shell patterns (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-wildcards -d 'Names and patterns are what they are (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l anchored -d 'Patterns begin where names begin (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-anchored -d 'Patterns begin after any slash (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l ignore-case -d 'Upper and lower case are the same'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-ignore-case -d 'Upper and lower case differ (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l wildcards-match-slash -d 'Wildcards match slashes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-wildcards-match-slash -d 'Wildcards match no slash'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l posix -d 'The same as --format=pax'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l one-file-system -d 'Stay in the file system that a name is in'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s h -l dereference -d 'Store what symbolic links point at'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l hard-dereference -d 'Store each name of a file as a file of its own'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s v -l verbose -d 'Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -s O -l to-stdout -d 'Extract files to standard output'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l full-time -d 'List times in full'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l utc -d 'List times in UTC'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l totals -d 'Print the bytes of the archive and the speed at the end'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from extract" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s f -l file -d 'The archive; \'-\' or no -f at all is standard input or output' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s C -l directory -l cd -d 'Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s I -l use-compress-program -d 'Through this command, with its arguments; when reading with -d' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l level -d 'How hard to compress, in the codec\'s own levels' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l owner -d 'Store: this owner for all, as NAME, NUMBER or NAME:NUMBER' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l group -d 'Store: this group for all' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l mode -d 'Store: change the modes, as chmod does' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l mtime -d 'Store: this time for all, or that of a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l xattrs-include -d 'Only extended attributes whose names match [default: user.* when extracting, all when storing]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l xattrs-exclude -d 'No extended attributes whose names match' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l exclude -d 'Leave out members that match the shell pattern' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s X -l exclude-from -d 'Leave out members that match a pattern of FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s T -l files-from -d 'Names from FILE, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l add-file -d 'A name, also one that begins with a dash' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l transform -l xform -d 'Change names by sed\'s s/PATTERN/WITH/FLAGS' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l strip-components -d 'Take N leading directories off the names' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l one-top-level -d 'Extract into a directory of the archive\'s name, or DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s N -l newer -d 'Only files newer than DATE, or than a file (/FILE or ./FILE)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l newer-mtime -d 'The same, whatever else of them has changed later' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l index -d 'Keep where members are in FILE, and read only what is asked for' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s H -l format -d 'ustar, gnu or pax [default: pax, where ustar does not do]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l sort -d 'Members of a directory by \'name\', or \'none\' (default): as it lists them' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s V -l label -d 'Begin with a volume label' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s b -l blocking-factor -d 'Pad to records of N times 512 bytes [default: 20]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l record-size -d 'Pad to records of SIZE bytes' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l bwlimit -d 'Stay below SIZE bytes a second on each mount target, and on each file system of this host\'s disks (64k, 10MiB, 1GB)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s c -l create -d 'Make an archive'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s x -l extract -l get -d 'Extract members'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s t -l list -d 'List members'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s d -l diff -d 'Compare members with files'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s r -l append -d 'Append files to an archive that is there'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s u -l update -d 'Append files that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s z -l gzip -d 'gzip'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s j -l bzip2 -d 'bzip2'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s J -l xz -d 'xz'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l zstd -d 'zstd'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l lz4 -d 'lz4'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s a -l auto-compress -d 'By the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-auto-compress -d 'Not by the archive\'s name'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s p -l preserve-permissions -d 'Exactly the archive\'s modes (default for root); without it the umask is taken off'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-same-permissions -d 'Take the umask off the modes (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l same-owner -d 'The archive\'s owners and groups (default for root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-same-owner -d 'Own what is extracted (default unless root)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s o -d 'When extracting: as --no-same-owner'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l numeric-owner -d 'Owners by numbers, not by names'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s m -l touch -d 'Leave the modification times at the time of extraction'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l clamp-mtime -d 'Store: --mtime only for what is later'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l xattrs -d 'Extended attributes'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-xattrs -d 'No extended attributes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l acls -d 'Access control lists'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-acls -d 'No access control lists (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l selinux -d 'SELinux contexts'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-selinux -d 'No SELinux contexts (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s S -l sparse -d 'Leave out holes; those of an archive are kept in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s k -l keep-old-files -d 'Keep them; each is an error'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l skip-old-files -d 'Keep them silently'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l keep-newer-files -d 'Keep those that are newer than the archive\'s'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l overwrite -d 'Write into them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s U -l unlink-first -d 'Remove them first'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l resume -d 'Go on after an interrupted run: skip files whose size and time are the archive\'s, links and devices likewise'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l exclude-vcs -d 'Leave out what version control systems keep for themselves'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l exclude-backups -d 'Leave out backups and lock files of editors'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l null -d 'Names of the lists that follow end in NULs and are nothing but names'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-null -d 'Names of the lists that follow end in newlines (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l verbatim-files-from -d 'Lines of the lists that follow are names, also those that begin with a dash'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-verbatim-files-from -d 'A line \'-C DIR\' of a list says where the names behind it are (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l unquote -d 'Backslashes in names begin escapes, as in \\n (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-unquote -d 'Backslashes in names are themselves'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l recursion -d 'What is beneath the directories that follow, too (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-recursion -d 'The directories that follow, without what is beneath them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l absolute-names -d 'Keep a leading / of names (-c, -t)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s i -l ignore-zeros -d 'Read on after blocks of zeros (joined archives)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s B -l read-full-records -d 'Pipes are always read to full records'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l delay-directory-restore -d 'Directories get their times at the end in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s n -l seek -d 'Files are sought in where they can be in any case'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l force-local -d 'The archive is a file of this host also where its name has a colon'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l wildcards -d 'Names are shell patterns (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-wildcards -d 'Names and patterns are what they are (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l anchored -d 'Patterns begin where names begin (default for names)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-anchored -d 'Patterns begin after any slash (default for --exclude)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l ignore-case -d 'Upper and lower case are the same'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-ignore-case -d 'Upper and lower case differ (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l wildcards-match-slash -d 'Wildcards match slashes (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-wildcards-match-slash -d 'Wildcards match no slash'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l posix -d 'The same as --format=pax'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l one-file-system -d 'Stay in the file system that a name is in'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s h -l dereference -d 'Store what symbolic links point at'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l hard-dereference -d 'Store each name of a file as a file of its own'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s v -l verbose -d 'Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -s O -l to-stdout -d 'Extract files to standard output'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l full-time -d 'List times in full'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l utc -d 'List times in UTC'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l totals -d 'Print the bytes of the archive and the speed at the end'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from create" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s t -l target-directory -d 'Copy all SRC below DIR' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l files-from -d 'Copy only the paths listed in FILE (\'-\': standard input), one a line, relative to the one SRC' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l preserve -d 'mode, ownership, timestamps, links, xattr, all [default with no LIST: the first three]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l no-preserve -d 'Leave these attributes to be those of new files' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l reflink -d 'Share blocks where the file systems can: auto (default) or never' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l sparse -d 'Holes: auto (where the source has some, default), always (for every block of zeros) or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s u -l update -d 'Leave those alone that are newer than the source\'s: older (default with no WHEN); all of them: none, as -n; or none: all' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l exclude -d 'Leave out what matches, and what is below it, on both sides' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l exclude-from -d 'Leave out what matches a pattern of FILE, one a line; lines that begin with \'#\' or \';\' are comments' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l include -d 'Do not leave out what matches; what is in it is decided by its own name' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l include-from -d 'Do not leave out what matches a pattern of FILE' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l max-delete -d 'Remove no more than N objects; if there are more, that is told and the exit status is 1' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l bwlimit -d 'Write no more than RATE a second to all of DST\'s targets together: KiB, or with a suffix as 10M, 1.5G, 64KB' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l info -d 'progress2 is --progress, stats is --stats' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s 0 -l null -l from0 -d 'The paths of --files-from end in NULs, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s a -l archive -d 'All of them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s r -l recursive -d 'Trees (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s p -d 'Modes, owners and times (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s d -d 'Symbolic and hard links as links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l restore -d '-a -H -x: a file system as it was'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s H -l hard-links -d 'Hard links (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s X -l xattrs -d 'Extended attributes (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s A -l acls -d 'POSIX ACLs (default where both sides have them); a warning where they cannot be'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s x -l one-file-system -d 'Make directories of other file systems than SRC\'s, and do not enter them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s S -d '--sparse=always'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l atomic -d 'Write files under a temporary name and rename them when they are complete'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s c -l checksum -d 'Compare their bytes'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l size-only -d 'Compare their sizes only'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s I -l ignore-times -d 'Copy all of them again'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s n -l no-clobber -d 'Leave all of them alone'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l resume -d 'Go on after an interrupted run (default: any run does)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l delete -d 'Remove from DST what SRC lacks, after the copies, unless SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l delete-excluded -d 'Also remove what SRC lacks and the patterns leave out (implies --delete)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l ignore-errors -d 'Remove also when SRC could not be read everywhere'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l dry-run -d 'Change nothing; show what would be done, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l verify -d 'Read back what was written and compare'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l verify-only -d 'Change nothing; compare data and attributes, and list the differences. Options that say how files are written may stay'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -s v -l verbose -d 'List on stdout what is copied and deleted, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l stats -d 'Print what the run did and cost at the end'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from copy" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l interactive -d 'never, or once (-I)' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l preserve-root -d '\'/\' is never removed (default); with =all, nor is any operand on another device than its parent, nor its contents' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l exclude -d 'Leave what matches the shell pattern alone, and the directories it is in' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l exclude-from -d 'Leave what matches a pattern of FILE alone, one a line' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l older-than -d 'Only what was modified before: 2w, 30d, 12h, 45m, 90s ago, or YYYY-MM-DD[ HH:MM[:SS]] in UTC' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l files-from -d 'Remove the paths listed in FILE (\'-\': standard input), one a line, relative to DIR or the working directory' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s r -l recursive -d 'Remove directories with what is in them (default)'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s f -l force -d 'What is not there is no error; takes -I back'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s d -l dir -d 'Remove directories only when they are empty, unless -r is given; in a list, what is in one may come before it'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l contents -d 'Remove what is in the operands, and keep them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s I -d 'Ask once before more than three operands or a tree are removed'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s x -l one-file-system -d 'Leave directories of other file systems than the operand\'s alone'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l dry-run -d 'Remove nothing; show what would be removed, and what it would cost'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s 0 -l null -d 'The paths of --files-from end in NULs, the last one too, as find -print0 writes them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -s v -l verbose -d 'List on stdout what is removed, and what the run cost on stderr; twice: also how it was set up'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l no-progress -d 'Show no progress'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l help -d 'This help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from remove" -l version -d 'The version'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l iops -d 'I/Os a second that the programs make, each of --io-size; not the IOPS of the price list' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l throughput -d 'Bytes a second that the programs move, such as 4GB/s. Of both goals the larger counts' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l io-size -d 'Bytes of one I/O, such as 32k' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l read-pct -d 'How many I/Os of a hundred are reads' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l targets -d 'What these numbers of mount targets give, or how full the goal makes them' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l latency -d 'Answer time of a target [default: the profile\'s]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l profile -d 'Prices and ceilings of another server, as TOML [default: an OCI mount target\'s]' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -l json -d 'Print JSON'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from capacity" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l size -d 'Size of each volume' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l total -d 'Size of all volumes together, in equal parts' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l vpu -d 'Volume performance units for each GB: the level' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l volumes -d 'Volumes [default: 1, or the fewest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l hosts -d 'Hosts that the volumes are attached to [default: 1, or the fewest]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l iops -d 'Reach this many IOPS' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l throughput -d 'Reach this many bytes a second, such as 4GB/s' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l io-size -d 'Also say what is left for I/Os of this size, such as 64k' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l host-iops -d 'IOPS that one host lets through [default: the profile\'s]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l host-throughput -d 'Bytes a second that one host lets through [default: the profile\'s]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l price-per-gb -d 'Price of one GB, in any currency and period [default: the profile\'s, if it has one]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l price-per-vpu-gb -d 'Price of one VPU-GB [default: the profile\'s, if it has one]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l profile -d 'Levels, limits and prices of another provider, as TOML [default: OCI Block Volume\'s]' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l sharing -d 'Attach each volume to all hosts, not to one of them'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l single-path -d 'Attach without multipath'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -l json -d 'Print JSON'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from volume" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -l targets -d 'Numbers of mount targets' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -l latency -l rtt -d 'Answer time of an idle target [default: the profile\'s]' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -l profile -d 'Prices and ceilings of a target, as TOML [default: an OCI mount target\'s]' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -l scale -d 'Ceilings of a target are the profile\'s times this' -r
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -l json -d 'Print JSON'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "extract" -d 'What partar -x will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "create" -d 'What partar -c will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "copy" -d 'What parcp will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "remove" -d 'What parrm will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "capacity" -d 'How many mount targets a load of reads and writes needs, and which of their ceilings binds'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "volume" -d 'What block volumes give by size, level, attachment and host, and which mixes reach a goal'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "load" -d 'What a job of parfs load will give, by the number of mount targets, before it runs'
complete -c parfs -n "__fish_parfs_using_subcommand plan; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -l depth -d 'Levels of directories below each PATH that are listed; 0 for the PATH alone [default: 1]' -r
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -l watch -d 'Read the mounts\' counters for so long, and say how near each target is to its ceilings' -r
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -s P -l parallel -d 'Judge processors and memory for N lanes [default: 64]' -r
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -l latency -d 'How far targets are whose answers nobody has counted' -r
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -l root -d 'Read the files of a host below DIR' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -l json -d 'Print the findings as JSON'
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s o -l output -d 'Results go to FILE' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s F -l output-format -d 'terse, json, json+, normal; several with commas' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s f -l append-terse -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s V -l terse-version -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s c -l cmdhelp -d 'Job options' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s i -l enghelp -d 'Engines and their options' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s e -l eta -d 'The status line: always, never, auto (on a terminal)' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s O -l eta-interval -d 'How often it is refreshed, and goes to a new line' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s E -l eta-newline -d 'How often it is refreshed, and goes to a new line' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s x -l section -d 'Only these sections of job files' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l alloc-size -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s j -l max-jobs -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s L -l status-interval -d 'Results so far, again and again' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s K -l aux-path -d 'Where the state files of verify_state_save=1 go' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s b -l bandwidth-log -d 'Bytes a second of all jobs together go to NAME-read_bw.log and so on; NAME is agg if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s I -l idle-prof -d 'How idle processors were while jobs ran: system (their mean) or percpu (each too); calibrate measures only the unit of work that idle time is told by' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s d -l debug -d 'Tells line by line of io (each I/O), random (seeds, and where random I/Os go) or all, in the report or, where there is none, on standard error; help lists the types' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l scale -d 'Runs the jobs on the first N of their targets (x_targets=, nfs_url=, directory=), with N times the clones, one number after the other, and prints a table: I/Os a second of each target and in all, how linear that is, priced IOPS against the ceiling of a mount target, forecast and fact, and what bound it' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l scale-ceilings -d 'The targets have FACTOR of the ceilings of an OCI mount target' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l sweep -d 'Runs the jobs with each combination of these values: --sweep bs=4k,8k rwmix=100,70,0' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l report-csv -d 'The table goes to FILE as CSV; with --output-format=json it is in x_scale' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l report-html -d 'The table, IOPS and throughput against targets, latencies over time and cumulative, as one HTML file' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l compare -d 'Whether two runs differ: Welch\'s test on those samples, job by job; exit status 0 whatever it says. Half seconds of one run are not independent, so that a p not far below 0.05 says little' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l description -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l name -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l wait_for -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l filename -d 'names separated by \':\'' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l directory -d 'names separated by \':\'' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l filename_format -d 'a text; $jobname.$jobnum.$filenum if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l unique_filename -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rw -l readwrite -d 'one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite; read if not given' -r -f -a "read\t''
write\t''
trim\t''
randread\t''
randwrite\t''
randtrim\t''
rw\t''
readwrite\t''
randrw\t''
trimwrite\t''
randtrimwrite\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bs -l blocksize -d 'a number, or one each for reads, writes and trims; 4096 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bsrange -l blocksize_range -d 'a range of sizes, or one each' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bssplit -d 'SIZE/PERCENT:..., or one each' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l randrepeat -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l allrandrepeat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l randseed -d 'a size or count; 0x89 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l norandommap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l ioengine -d 'a text; psync if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iodepth -d 'a number from 1 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iodepth_batch -l iodepth_batch_submit -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iodepth_batch_complete_min -l iodepth_batch_complete -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iodepth_batch_complete_max -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iodepth_low -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l size -d 'a size, or a percentage' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l io_size -l io_limit -d 'a size, or a percentage' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fill_device -l fill_fs -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l filesize -d 'a size, or a range' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l file_append -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l offset -l fileoffset -d 'a size, or a percentage; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l offset_increment -d 'a size, or a percentage; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l number_ios -d 'a size or count; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l nrfiles -l nr_files -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l file_service_type -d 'one of random, zipf, pareto, normal, gauss, roundrobin, sequential; roundrobin if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
gauss\t''
roundrobin\t''
sequential\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l openfiles -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fallocate -d 'one of none, native, posix, keep, truncate, 0, 1; native if not given' -r -f -a "none\t''
native\t''
posix\t''
keep\t''
truncate\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fadvise_hint -d 'one of 0, 1, random, sequential, noreuse; 1 if not given' -r -f -a "0\t''
1\t''
random\t''
sequential\t''
noreuse\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fsync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fdatasync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l direct -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l buffered -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l overwrite -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l loops -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l numjobs -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l startdelay -d 'a time, or a range; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l runtime -l timeout -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l time_based -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l ramp_time -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify -d 'one of 0, md5, crc64, crc32, crc32c-intel, crc32c, crc16, crc7, sha1, sha256, sha512, sha3-224, sha3-256, sha3-384, sha3-512, xxhash, meta, pattern, pattern_hdr, null; 0 if not given' -r -f -a "0\t''
md5\t''
crc64\t''
crc32\t''
crc32c-intel\t''
crc32c\t''
crc16\t''
crc7\t''
sha1\t''
sha256\t''
sha512\t''
sha3-224\t''
sha3-256\t''
sha3-384\t''
sha3-512\t''
xxhash\t''
meta\t''
pattern\t''
pattern_hdr\t''
null\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l do_verify -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_pattern -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_fatal -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rwmixread -d 'a number from 0 to 100; 50 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rwmixwrite -d 'a number from 0 to 100; 50 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thinktime -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_iops -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l invalidate -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l sync -d 'one of none, 0, sync, 1, dsync; none if not given' -r -f -a "none\t''
0\t''
sync\t''
1\t''
dsync\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l create_serialize -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l create_fsync -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l create_on_open -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l create_only -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l allow_file_create -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l pre_read -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l end_fsync -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fsync_on_close -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l unlink -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l exitall -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l exitall_on_error -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l stonewall -l wait_for_previous -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l new_group -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thread -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l per_job_logs -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_bw_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_lat_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_iops_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_avg_msec -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_offset -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l group_reporting -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l stats -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l zero_buffers -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l refill_buffers -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l scramble_buffers -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l buffer_pattern -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l buffer_compress_percentage -d 'a number from 0 to 100' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l buffer_compress_chunk -d 'a number from 0 to 4294967295; 512 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l clat_percentiles -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l lat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l slat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l percentile_list -d 'numbers separated by \':\'; 1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l significant_figures -d 'a number from 1 to 10; 4 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l disk_util -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l gtod_reduce -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l disable_lat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l disable_clat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l disable_slat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l unified_rw_reporting -d 'one of none, mixed, both, 0, 1, 2; none if not given' -r -f -a "none\t''
mixed\t''
both\t''
0\t''
1\t''
2\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l continue_on_error -d 'one of none, read, write, io, verify, all, 0, 1; none if not given' -r -f -a "none\t''
read\t''
write\t''
io\t''
verify\t''
all\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l kb_base -d 'one of 1024, 1000; 1024 if not given' -r -f -a "1024\t''
1000\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l unit_base -d 'one of 0, 8, 1; 0 if not given' -r -f -a "0\t''
8\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l opendir -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l ba -l blockalign -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bs_unaligned -l blocksize_unaligned -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l zonemode -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l softrandommap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l random_generator -d 'one of tausworthe, lfsr, tausworthe64; tausworthe if not given' -r -f -a "tausworthe\t''
lfsr\t''
tausworthe64\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l random_distribution -d 'one of random, zipf, pareto, normal, zoned, zoned_abs; random if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
zoned\t''
zoned_abs\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l percentage_random -d 'a number, or one each for reads, writes and trims; 100,100,100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rw_sequencer -d 'one of sequential, identical; sequential if not given' -r -f -a "sequential\t''
identical\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l ignore_error -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l error_dump -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l serialize_overlap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l io_submit_mode -d 'one of inline, offload; inline if not given' -r -f -a "inline\t''
offload\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l offset_align -d 'a number, or one each for reads, writes and trims; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l sync_file_range -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l clocksource -d 'one of gettimeofday, clock_gettime, cpu' -r -f -a "gettimeofday\t''
clock_gettime\t''
cpu\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l gtod_cpu -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l mem -l iomem -d 'one of malloc, shm, mmap, mmapshared, shmhuge, mmaphuge; malloc if not given' -r -f -a "malloc\t''
shm\t''
mmap\t''
mmapshared\t''
shmhuge\t''
mmaphuge\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iomem_align -l mem_align -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_only -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_interval -d 'a number from 80 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_offset -d 'a number from 40 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_dump -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_async -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_async_cpus -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_backlog -d 'a size or count' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_backlog_batch -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l experimental_verify -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_write_sequence -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_header_seed -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_state_load -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l verify_state_save -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l dedupe_percentage -d 'a number from 0 to 100' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_iolog -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l read_iolog -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l replay_no_stall -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l replay_time_scale -d 'a number from 1 to 2147483647; 100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l replay_scale -d 'a number from 1 to 2147483647; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l replay_align -d 'a number from 0 to 2147483647; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l exec_prerun -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l exec_postrun -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l nice -d 'a number from -20 to 19; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l prio -d 'a number from 0 to 7' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l prioclass -d 'a number from 0 to 3' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thinktime_spin -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thinktime_blocks -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thinktime_blocks_type -d 'one of complete, issue; complete if not given' -r -f -a "complete\t''
issue\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l thinktime_iotime -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_min -l ratemin -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_iops_min -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_process -d 'one of linear, poisson; linear if not given' -r -f -a "linear\t''
poisson\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_cycle -l ratecycle -d 'a time; 1000 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l rate_ignore_thinktime -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l max_latency -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l latency_target -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l latency_window -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l latency_percentile -d 'numbers separated by \':\'; 100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l latency_run -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l cpus_allowed -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l cpus_allowed_policy -d 'one of shared, split; shared if not given' -r -f -a "shared\t''
split\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l numa_cpu_nodes -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l unlink_each_loop -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l exit_what -d 'one of group, stonewall, all; group if not given' -r -f -a "group\t''
stonewall\t''
all\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bwavgtime -d 'a time; 500 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l iopsavgtime -d 'a time; 500 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_entries -d 'a number from 1024 to 1048576; 1024 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_hist_msec -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_hist_coarseness -d 'a number from 0 to 6; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_hist_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_max_value -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_window_value -d 'one of avg, max, both, 0, 1; avg if not given' -r -f -a "avg\t''
max\t''
both\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_unix_epoch -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l disable_bw_measurement -l disable_bw -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l uid -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l gid -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l steadystate -l ss -d 'one of iops, iops_slope, bw, bw_slope; iops_slope:0.01% if not given' -r -f -a "iops\t''
iops_slope\t''
bw\t''
bw_slope\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l steadystate_duration -l ss_dur -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l steadystate_ramp_time -l ss_ramp -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l zonesize -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l trim_percentage -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l flow -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_prio -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l atomic -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l log_alternate_epoch -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l dedupe_mode -d 'one of repeat; repeat if not given' -r -f -a "repeat\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l dedupe_global -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l write_barrier -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l lockfile -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l numa_mem_policy -d 'one of default; default if not given' -r -f -a "default\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l bs_is_seq_rand -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l stat_type -d 'one of stat; stat if not given' -r -f -a "stat\t''"
complete -c parfs -n "__fish_parfs_using_subcommand load" -l registerfiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l fixedbufs -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l hipri -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l sqthread_poll -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l nonvectored -d 'a number from 0 to 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l uncached -d 'a number from 0 to 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l nfs_url -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l x_nconnect -d 'a number from 1 to 16' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l x_targets -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l x_per_target -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -l x_samples -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand load" -s m -l minimal -d 'Terse lines (versions 2 to 5; 3 if not given)'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s v -l version -d 'The version; this help'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s h -l help -d 'The version; this help'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s s -l showcmd -d 'Shows job files as command lines'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s r -l readonly -d 'Refuses jobs that write'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s P -l parse-only -d 'Checks jobs, and does nothing'
complete -c parfs -n "__fish_parfs_using_subcommand load" -s w -l warnings-fatal -d 'Refuses jobs of which a warning would be told'
complete -c parfs -n "__fish_parfs_using_subcommand load" -l per-target -d 'Results of each target beneath those of a job, of a URL\'s hosts together (as x_per_target=1; in JSON x_per_target)'
complete -c parfs -n "__fish_parfs_using_subcommand load" -l x-samples -d 'JSON has x_samples: what each job did in each half second (as x_samples=1)'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s o -l output -d 'Results go to FILE' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s F -l output-format -d 'terse, json, json+, normal; several with commas' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s f -l append-terse -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s V -l terse-version -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s c -l cmdhelp -d 'Job options' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s i -l enghelp -d 'Engines and their options' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s e -l eta -d 'The status line: always, never, auto (on a terminal)' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s O -l eta-interval -d 'How often it is refreshed, and goes to a new line' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s E -l eta-newline -d 'How often it is refreshed, and goes to a new line' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s x -l section -d 'Only these sections of job files' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l alloc-size -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s j -l max-jobs -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s L -l status-interval -d 'Results so far, again and again' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s K -l aux-path -d 'Where the state files of verify_state_save=1 go' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s b -l bandwidth-log -d 'Bytes a second of all jobs together go to NAME-read_bw.log and so on; NAME is agg if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s I -l idle-prof -d 'How idle processors were while jobs ran: system (their mean) or percpu (each too); calibrate measures only the unit of work that idle time is told by' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s d -l debug -d 'Tells line by line of io (each I/O), random (seeds, and where random I/Os go) or all, in the report or, where there is none, on standard error; help lists the types' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l scale -d 'Runs the jobs on the first N of their targets (x_targets=, nfs_url=, directory=), with N times the clones, one number after the other, and prints a table: I/Os a second of each target and in all, how linear that is, priced IOPS against the ceiling of a mount target, forecast and fact, and what bound it' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l scale-ceilings -d 'The targets have FACTOR of the ceilings of an OCI mount target' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l sweep -d 'Runs the jobs with each combination of these values: --sweep bs=4k,8k rwmix=100,70,0' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l report-csv -d 'The table goes to FILE as CSV; with --output-format=json it is in x_scale' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l report-html -d 'The table, IOPS and throughput against targets, latencies over time and cumulative, as one HTML file' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l compare -d 'Whether two runs differ: Welch\'s test on those samples, job by job; exit status 0 whatever it says. Half seconds of one run are not independent, so that a p not far below 0.05 says little' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l description -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l name -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l wait_for -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l filename -d 'names separated by \':\'' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l directory -d 'names separated by \':\'' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l filename_format -d 'a text; $jobname.$jobnum.$filenum if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l unique_filename -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rw -l readwrite -d 'one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite; read if not given' -r -f -a "read\t''
write\t''
trim\t''
randread\t''
randwrite\t''
randtrim\t''
rw\t''
readwrite\t''
randrw\t''
trimwrite\t''
randtrimwrite\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bs -l blocksize -d 'a number, or one each for reads, writes and trims; 4096 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bsrange -l blocksize_range -d 'a range of sizes, or one each' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bssplit -d 'SIZE/PERCENT:..., or one each' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l randrepeat -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l allrandrepeat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l randseed -d 'a size or count; 0x89 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l norandommap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l ioengine -d 'a text; psync if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iodepth -d 'a number from 1 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iodepth_batch -l iodepth_batch_submit -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iodepth_batch_complete_min -l iodepth_batch_complete -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iodepth_batch_complete_max -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iodepth_low -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l size -d 'a size, or a percentage' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l io_size -l io_limit -d 'a size, or a percentage' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fill_device -l fill_fs -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l filesize -d 'a size, or a range' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l file_append -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l offset -l fileoffset -d 'a size, or a percentage; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l offset_increment -d 'a size, or a percentage; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l number_ios -d 'a size or count; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l nrfiles -l nr_files -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l file_service_type -d 'one of random, zipf, pareto, normal, gauss, roundrobin, sequential; roundrobin if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
gauss\t''
roundrobin\t''
sequential\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l openfiles -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fallocate -d 'one of none, native, posix, keep, truncate, 0, 1; native if not given' -r -f -a "none\t''
native\t''
posix\t''
keep\t''
truncate\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fadvise_hint -d 'one of 0, 1, random, sequential, noreuse; 1 if not given' -r -f -a "0\t''
1\t''
random\t''
sequential\t''
noreuse\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fsync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fdatasync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l direct -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l buffered -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l overwrite -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l loops -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l numjobs -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l startdelay -d 'a time, or a range; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l runtime -l timeout -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l time_based -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l ramp_time -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify -d 'one of 0, md5, crc64, crc32, crc32c-intel, crc32c, crc16, crc7, sha1, sha256, sha512, sha3-224, sha3-256, sha3-384, sha3-512, xxhash, meta, pattern, pattern_hdr, null; 0 if not given' -r -f -a "0\t''
md5\t''
crc64\t''
crc32\t''
crc32c-intel\t''
crc32c\t''
crc16\t''
crc7\t''
sha1\t''
sha256\t''
sha512\t''
sha3-224\t''
sha3-256\t''
sha3-384\t''
sha3-512\t''
xxhash\t''
meta\t''
pattern\t''
pattern_hdr\t''
null\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l do_verify -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_pattern -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_fatal -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rwmixread -d 'a number from 0 to 100; 50 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rwmixwrite -d 'a number from 0 to 100; 50 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thinktime -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_iops -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l invalidate -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l sync -d 'one of none, 0, sync, 1, dsync; none if not given' -r -f -a "none\t''
0\t''
sync\t''
1\t''
dsync\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l create_serialize -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l create_fsync -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l create_on_open -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l create_only -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l allow_file_create -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l pre_read -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l end_fsync -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fsync_on_close -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l unlink -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l exitall -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l exitall_on_error -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l stonewall -l wait_for_previous -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l new_group -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thread -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l per_job_logs -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_bw_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_lat_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_iops_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_avg_msec -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_offset -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l group_reporting -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l stats -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l zero_buffers -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l refill_buffers -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l scramble_buffers -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l buffer_pattern -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l buffer_compress_percentage -d 'a number from 0 to 100' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l buffer_compress_chunk -d 'a number from 0 to 4294967295; 512 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l clat_percentiles -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l lat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l slat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l percentile_list -d 'numbers separated by \':\'; 1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l significant_figures -d 'a number from 1 to 10; 4 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l disk_util -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l gtod_reduce -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l disable_lat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l disable_clat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l disable_slat -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l unified_rw_reporting -d 'one of none, mixed, both, 0, 1, 2; none if not given' -r -f -a "none\t''
mixed\t''
both\t''
0\t''
1\t''
2\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l continue_on_error -d 'one of none, read, write, io, verify, all, 0, 1; none if not given' -r -f -a "none\t''
read\t''
write\t''
io\t''
verify\t''
all\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l kb_base -d 'one of 1024, 1000; 1024 if not given' -r -f -a "1024\t''
1000\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l unit_base -d 'one of 0, 8, 1; 0 if not given' -r -f -a "0\t''
8\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l opendir -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l ba -l blockalign -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bs_unaligned -l blocksize_unaligned -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l zonemode -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l softrandommap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l random_generator -d 'one of tausworthe, lfsr, tausworthe64; tausworthe if not given' -r -f -a "tausworthe\t''
lfsr\t''
tausworthe64\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l random_distribution -d 'one of random, zipf, pareto, normal, zoned, zoned_abs; random if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
zoned\t''
zoned_abs\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l percentage_random -d 'a number, or one each for reads, writes and trims; 100,100,100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rw_sequencer -d 'one of sequential, identical; sequential if not given' -r -f -a "sequential\t''
identical\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l ignore_error -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l error_dump -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l serialize_overlap -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l io_submit_mode -d 'one of inline, offload; inline if not given' -r -f -a "inline\t''
offload\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l offset_align -d 'a number, or one each for reads, writes and trims; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l sync_file_range -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l clocksource -d 'one of gettimeofday, clock_gettime, cpu' -r -f -a "gettimeofday\t''
clock_gettime\t''
cpu\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l gtod_cpu -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l mem -l iomem -d 'one of malloc, shm, mmap, mmapshared, shmhuge, mmaphuge; malloc if not given' -r -f -a "malloc\t''
shm\t''
mmap\t''
mmapshared\t''
shmhuge\t''
mmaphuge\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iomem_align -l mem_align -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_only -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_interval -d 'a number from 80 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_offset -d 'a number from 40 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_dump -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_async -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_async_cpus -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_backlog -d 'a size or count' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_backlog_batch -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l experimental_verify -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_write_sequence -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_header_seed -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_state_load -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l verify_state_save -d '0 or 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l dedupe_percentage -d 'a number from 0 to 100' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_iolog -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l read_iolog -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l replay_no_stall -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l replay_time_scale -d 'a number from 1 to 2147483647; 100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l replay_scale -d 'a number from 1 to 2147483647; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l replay_align -d 'a number from 0 to 2147483647; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l exec_prerun -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l exec_postrun -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l nice -d 'a number from -20 to 19; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l prio -d 'a number from 0 to 7' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l prioclass -d 'a number from 0 to 3' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thinktime_spin -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thinktime_blocks -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thinktime_blocks_type -d 'one of complete, issue; complete if not given' -r -f -a "complete\t''
issue\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l thinktime_iotime -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_min -l ratemin -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_iops_min -d 'a number, or one each for reads, writes and trims' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_process -d 'one of linear, poisson; linear if not given' -r -f -a "linear\t''
poisson\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_cycle -l ratecycle -d 'a time; 1000 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l rate_ignore_thinktime -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l max_latency -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l latency_target -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l latency_window -d 'a time' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l latency_percentile -d 'numbers separated by \':\'; 100 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l latency_run -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l cpus_allowed -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l cpus_allowed_policy -d 'one of shared, split; shared if not given' -r -f -a "shared\t''
split\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l numa_cpu_nodes -d 'processors' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l unlink_each_loop -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l exit_what -d 'one of group, stonewall, all; group if not given' -r -f -a "group\t''
stonewall\t''
all\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bwavgtime -d 'a time; 500 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l iopsavgtime -d 'a time; 500 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_entries -d 'a number from 1024 to 1048576; 1024 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_hist_msec -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_hist_coarseness -d 'a number from 0 to 6; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_hist_log -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_max_value -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_window_value -d 'one of avg, max, both, 0, 1; avg if not given' -r -f -a "avg\t''
max\t''
both\t''
0\t''
1\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_unix_epoch -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l disable_bw_measurement -l disable_bw -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l uid -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l gid -d 'a number from 0 to 4294967295' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l steadystate -l ss -d 'one of iops, iops_slope, bw, bw_slope; iops_slope:0.01% if not given' -r -f -a "iops\t''
iops_slope\t''
bw\t''
bw_slope\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l steadystate_duration -l ss_dur -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l steadystate_ramp_time -l ss_ramp -d 'a time; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l zonesize -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l trim_percentage -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l flow -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_prio -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l atomic -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l log_alternate_epoch -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l dedupe_mode -d 'one of repeat; repeat if not given' -r -f -a "repeat\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l dedupe_global -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l write_barrier -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l lockfile -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l numa_mem_policy -d 'one of default; default if not given' -r -f -a "default\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l bs_is_seq_rand -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l stat_type -d 'one of stat; stat if not given' -r -f -a "stat\t''"
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l registerfiles -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l fixedbufs -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l hipri -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l sqthread_poll -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l nonvectored -d 'a number from 0 to 1; 1 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l uncached -d 'a number from 0 to 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l nfs_url -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l x_nconnect -d 'a number from 1 to 16' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l x_targets -d 'a text' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l x_per_target -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l x_samples -d '0 or 1; 0 if not given' -r
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s m -l minimal -d 'Terse lines (versions 2 to 5; 3 if not given)'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s v -l version -d 'The version; this help'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s h -l help -d 'The version; this help'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s s -l showcmd -d 'Shows job files as command lines'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s r -l readonly -d 'Refuses jobs that write'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s P -l parse-only -d 'Checks jobs, and does nothing'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -s w -l warnings-fatal -d 'Refuses jobs of which a warning would be told'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l per-target -d 'Results of each target beneath those of a job, of a URL\'s hosts together (as x_per_target=1; in JSON x_per_target)'
complete -c parfs -n "__fish_parfs_using_subcommand parload" -l x-samples -d 'JSON has x_samples: what each job did in each half second (as x_samples=1)'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l targets -d 'Mount targets of the one export' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l listen -d 'Where to listen. Several targets with one port take consecutive loopback addresses, or consecutive ports elsewhere [default: 127.0.0.1, ports as the system gives them]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l dir -d 'Serve this directory' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l latency -d 'Answer time of an idle target [default: 1ms]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l iops -d 'IOPS of each target by OCI\'s price list [default: 50000]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l bandwidth -d 'Bytes a second of each target [default: 1GB]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l scale -d 'Ceilings times this' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l replay -d 'Requests that each target\'s duplicate request cache remembers; 0 for none [default: 4096]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l fault -d 'Something that goes wrong, as KIND[:KEY=VALUE,...] (repeatable; see below)' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l report -d 'Write what was served to FILE as JSON at the end' -r -F
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l seconds -d 'Serve for this long [default: until a signal]' -r
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l memory -d 'Serve an empty file system in memory (default)'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l unlimited -d 'No latency and no ceilings'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l portmap -d 'Serve the portmapper on port 111 as well (needs the right to)'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -l live -d 'Print a line each second on stderr'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand sim" -s V -l version -d 'Print version'
complete -c parfs -n "__fish_parfs_using_subcommand demo" -l files -d 'Files in the archive, of 1 to 16 KiB' -r
complete -c parfs -n "__fish_parfs_using_subcommand demo" -l targets -d 'Mount targets of the last run' -r
complete -c parfs -n "__fish_parfs_using_subcommand demo" -l scale -d 'Ceilings of each simulated target as a share of a real one\'s 50,000 IOPS and 1 GB/s' -r
complete -c parfs -n "__fish_parfs_using_subcommand demo" -l latency -d 'Answer time of an idle target' -r
complete -c parfs -n "__fish_parfs_using_subcommand demo" -l serial-max -d 'Cut the serial run after this long and extrapolate it' -r
complete -c parfs -n "__fish_parfs_using_subcommand demo" -s h -l help -d 'Print help'
complete -c parfs -n "__fish_parfs_using_subcommand demo" -s V -l version -d 'Print version'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "partar" -d 'Makes, lists, compares and extracts tar archives as GNU tar does, with many file operations in flight'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "parcp" -d 'Copies trees with many NFS operations in flight, as cp -a or rsync do with one'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "parrm" -d 'Removes trees with many NFS operations in flight, as rm -r does with one'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "plan" -d 'Tells what a job will cost and how long it will take, before it runs'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "doctor" -d 'Reads this host\'s NFS mounts, network, disks, processors and memory, and says what holds them back'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "load" -d 'Runs fio\'s command lines and job files on files and on NFS, over one or many mount targets'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "sim" -d 'Serves NFSv3 on the loopback as OCI mount targets would, with their latency, price list and ceilings'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "demo" -d 'Extracts a patch archive of many small files onto simulated mount targets: serially, onto one, onto four'
complete -c parfs -n "__fish_parfs_using_subcommand help; and not __fish_seen_subcommand_from partar parcp parrm plan doctor load sim demo help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "extract" -d 'What partar -x will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "create" -d 'What partar -c will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "copy" -d 'What parcp will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "remove" -d 'What parrm will cost and how long it will take'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "capacity" -d 'How many mount targets a load of reads and writes needs, and which of their ceilings binds'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "volume" -d 'What block volumes give by size, level, attachment and host, and which mixes reach a goal'
complete -c parfs -n "__fish_parfs_using_subcommand help; and __fish_seen_subcommand_from plan" -f -a "load" -d 'What a job of parfs load will give, by the number of mount targets, before it runs'
