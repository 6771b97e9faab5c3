complete -c partar -s f -l file -d 'The archive; \'-\' or no -f at all is standard input or output' -r
complete -c partar -s C -l directory -l cd -d 'Where to extract, or where the names that follow are: a directory that exists, or an nfs:// URL' -r
complete -c partar -s I -l use-compress-program -d 'Through this command, with its arguments; when reading with -d' -r
complete -c partar -l level -d 'How hard to compress, in the codec\'s own levels' -r
complete -c partar -l owner -d 'Store: this owner for all, as NAME, NUMBER or NAME:NUMBER' -r
complete -c partar -l group -d 'Store: this group for all' -r
complete -c partar -l mode -d 'Store: change the modes, as chmod does' -r
complete -c partar -l mtime -d 'Store: this time for all, or that of a file (/FILE or ./FILE)' -r
complete -c partar -l xattrs-include -d 'Only extended attributes whose names match [default: user.* when extracting, all when storing]' -r
complete -c partar -l xattrs-exclude -d 'No extended attributes whose names match' -r
complete -c partar -l exclude -d 'Leave out members that match the shell pattern' -r
complete -c partar -s X -l exclude-from -d 'Leave out members that match a pattern of FILE, one a line' -r
complete -c partar -s T -l files-from -d 'Names from FILE, one a line' -r
complete -c partar -l add-file -d 'A name, also one that begins with a dash' -r
complete -c partar -l transform -l xform -d 'Change names by sed\'s s/PATTERN/WITH/FLAGS' -r
complete -c partar -l strip-components -d 'Take N leading directories off the names' -r
complete -c partar -l one-top-level -d 'Extract into a directory of the archive\'s name, or DIR' -r
complete -c partar -s N -l newer -d 'Only files newer than DATE, or than a file (/FILE or ./FILE)' -r
complete -c partar -l newer-mtime -d 'The same, whatever else of them has changed later' -r
complete -c partar -l index -d 'Keep where members are in FILE, and read only what is asked for' -r
complete -c partar -s H -l format -d 'ustar, gnu or pax [default: pax, where ustar does not do]' -r
complete -c partar -l sort -d 'Members of a directory by \'name\', or \'none\' (default): as it lists them' -r
complete -c partar -s V -l label -d 'Begin with a volume label' -r
complete -c partar -s b -l blocking-factor -d 'Pad to records of N times 512 bytes [default: 20]' -r
complete -c partar -l record-size -d 'Pad to records of SIZE bytes' -r
complete -c partar -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c partar -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c partar -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c partar -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c partar -l bwlimit -d 'Stay below SIZE bytes a second on each mount target, and on each file system of this host\'s disks (64k, 10MiB, 1GB)' -r
complete -c partar -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c partar -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c partar -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c partar -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c partar -s c -l create -d 'Make an archive'
complete -c partar -s x -l extract -l get -d 'Extract members'
complete -c partar -s t -l list -d 'List members'
complete -c partar -s d -l diff -d 'Compare members with files'
complete -c partar -s r -l append -d 'Append files to an archive that is there'
complete -c partar -s u -l update -d 'Append files that are newer than the archive\'s'
complete -c partar -s z -l gzip -d 'gzip'
complete -c partar -s j -l bzip2 -d 'bzip2'
complete -c partar -s J -l xz -d 'xz'
complete -c partar -l zstd -d 'zstd'
complete -c partar -l lz4 -d 'lz4'
complete -c partar -s a -l auto-compress -d 'By the archive\'s name'
complete -c partar -l no-auto-compress -d 'Not by the archive\'s name'
complete -c partar -s p -l preserve-permissions -d 'Exactly the archive\'s modes (default for root); without it the umask is taken off'
complete -c partar -l no-same-permissions -d 'Take the umask off the modes (default unless root)'
complete -c partar -l same-owner -d 'The archive\'s owners and groups (default for root)'
complete -c partar -l no-same-owner -d 'Own what is extracted (default unless root)'
complete -c partar -s o -d 'When extracting: as --no-same-owner'
complete -c partar -l numeric-owner -d 'Owners by numbers, not by names'
complete -c partar -s m -l touch -d 'Leave the modification times at the time of extraction'
complete -c partar -l clamp-mtime -d 'Store: --mtime only for what is later'
complete -c partar -l xattrs -d 'Extended attributes'
complete -c partar -l no-xattrs -d 'No extended attributes (default)'
complete -c partar -l acls -d 'Access control lists'
complete -c partar -l no-acls -d 'No access control lists (default)'
complete -c partar -l selinux -d 'SELinux contexts'
complete -c partar -l no-selinux -d 'No SELinux contexts (default)'
complete -c partar -s S -l sparse -d 'Leave out holes; those of an archive are kept in any case'
complete -c partar -s k -l keep-old-files -d 'Keep them; each is an error'
complete -c partar -l skip-old-files -d 'Keep them silently'
complete -c partar -l keep-newer-files -d 'Keep those that are newer than the archive\'s'
complete -c partar -l overwrite -d 'Write into them'
complete -c partar -s U -l unlink-first -d 'Remove them first'
complete -c partar -l resume -d 'Go on after an interrupted run: skip files whose size and time are the archive\'s, links and devices likewise'
complete -c partar -l exclude-vcs -d 'Leave out what version control systems keep for themselves'
complete -c partar -l exclude-backups -d 'Leave out backups and lock files of editors'
complete -c partar -l null -d 'Names of the lists that follow end in NULs and are nothing but names'
complete -c partar -l no-null -d 'Names of the lists that follow end in newlines (default)'
complete -c partar -l verbatim-files-from -d 'Lines of the lists that follow are names, also those that begin with a dash'
complete -c partar -l no-verbatim-files-from -d 'A line \'-C DIR\' of a list says where the names behind it are (default)'
complete -c partar -l unquote -d 'Backslashes in names begin escapes, as in \\n (default)'
complete -c partar -l no-unquote -d 'Backslashes in names are themselves'
complete -c partar -l recursion -d 'What is beneath the directories that follow, too (default)'
complete -c partar -l no-recursion -d 'The directories that follow, without what is beneath them'
complete -c partar -l absolute-names -d 'Keep a leading / of names (-c, -t)'
complete -c partar -s i -l ignore-zeros -d 'Read on after blocks of zeros (joined archives)'
complete -c partar -s B -l read-full-records -d 'Pipes are always read to full records'
complete -c partar -l delay-directory-restore -d 'Directories get their times at the end in any case'
complete -c partar -s n -l seek -d 'Files are sought in where they can be in any case'
complete -c partar -l force-local -d 'The archive is a file of this host also where its name has a colon'
complete -c partar -l wildcards -d 'Names are shell patterns (default for --exclude)'
complete -c partar -l no-wildcards -d 'Names and patterns are what they are (default for names)'
complete -c partar -l anchored -d 'Patterns begin where names begin (default for names)'
complete -c partar -l no-anchored -d 'Patterns begin after any slash (default for --exclude)'
complete -c partar -l ignore-case -d 'Upper and lower case are the same'
complete -c partar -l no-ignore-case -d 'Upper and lower case differ (default)'
complete -c partar -l wildcards-match-slash -d 'Wildcards match slashes (default)'
complete -c partar -l no-wildcards-match-slash -d 'Wildcards match no slash'
complete -c partar -l posix -d 'The same as --format=pax'
complete -c partar -l one-file-system -d 'Stay in the file system that a name is in'
complete -c partar -s h -l dereference -d 'Store what symbolic links point at'
complete -c partar -l hard-dereference -d 'Store each name of a file as a file of its own'
complete -c partar -l no-spread -d 'Work only through the mount that an operand is on'
complete -c partar -s v -l verbose -d 'Tell members as they are finished (-t: in columns), and what the run cost on stderr; twice: also how it was set up'
complete -c partar -s O -l to-stdout -d 'Extract files to standard output'
complete -c partar -l full-time -d 'List times in full'
complete -c partar -l utc -d 'List times in UTC'
complete -c partar -l totals -d 'Print the bytes of the archive and the speed at the end'
complete -c partar -l no-progress -d 'Show no progress'
complete -c partar -l help -d 'This help'
complete -c partar -l version -d 'The version'
