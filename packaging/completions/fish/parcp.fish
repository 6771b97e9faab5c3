complete -c parcp -s t -l target-directory -d 'Copy all SRC below DIR' -r
complete -c parcp -l files-from -d 'Copy only the paths listed in FILE (\'-\': standard input), one a line, relative to the one SRC' -r
complete -c parcp -l preserve -d 'mode, ownership, timestamps, links, xattr, all [default with no LIST: the first three]' -r
complete -c parcp -l no-preserve -d 'Leave these attributes to be those of new files' -r
complete -c parcp -l reflink -d 'Share blocks where the file systems can: auto (default) or never' -r
complete -c parcp -l sparse -d 'Holes: auto (where the source has some, default), always (for every block of zeros) or never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c parcp -s u -l update -d 'Leave those alone that are newer than the source\'s: older (default with no WHEN); all of them: none, as -n; or none: all' -r
complete -c parcp -l exclude -d 'Leave out what matches, and what is below it, on both sides' -r
complete -c parcp -l exclude-from -d 'Leave out what matches a pattern of FILE, one a line; lines that begin with \'#\' or \';\' are comments' -r
complete -c parcp -l include -d 'Do not leave out what matches; what is in it is decided by its own name' -r
complete -c parcp -l include-from -d 'Do not leave out what matches a pattern of FILE' -r
complete -c parcp -l max-delete -d 'Remove no more than N objects; if there are more, that is told and the exit status is 1' -r
complete -c parcp -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parcp -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parcp -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parcp -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parcp -l bwlimit -d 'Write no more than RATE a second to all of DST\'s targets together: KiB, or with a suffix as 10M, 1.5G, 64KB' -r
complete -c parcp -l info -d 'progress2 is --progress, stats is --stats' -r
complete -c parcp -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parcp -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parcp -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parcp -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parcp -s 0 -l null -l from0 -d 'The paths of --files-from end in NULs, as find -print0 writes them'
complete -c parcp -s a -l archive -d 'All of them (default)'
complete -c parcp -s r -l recursive -d 'Trees (default)'
complete -c parcp -s p -d 'Modes, owners and times (default)'
complete -c parcp -s d -d 'Symbolic and hard links as links (default)'
complete -c parcp -l restore -d '-a -H -x: a file system as it was'
complete -c parcp -s H -l hard-links -d 'Hard links (default)'
complete -c parcp -s X -l xattrs -d 'Extended attributes (default where both sides have them); a warning where they cannot be'
complete -c parcp -s A -l acls -d 'POSIX ACLs (default where both sides have them); a warning where they cannot be'
complete -c parcp -s x -l one-file-system -d 'Make directories of other file systems than SRC\'s, and do not enter them'
complete -c parcp -s S -d '--sparse=always'
complete -c parcp -l atomic -d 'Write files under a temporary name and rename them when they are complete'
complete -c parcp -s c -l checksum -d 'Compare their bytes'
complete -c parcp -l size-only -d 'Compare their sizes only'
complete -c parcp -s I -l ignore-times -d 'Copy all of them again'
complete -c parcp -s n -l no-clobber -d 'Leave all of them alone'
complete -c parcp -l resume -d 'Go on after an interrupted run (default: any run does)'
complete -c parcp -l delete -d 'Remove from DST what SRC lacks, after the copies, unless SRC could not be read everywhere'
complete -c parcp -l delete-excluded -d 'Also remove what SRC lacks and the patterns leave out (implies --delete)'
complete -c parcp -l ignore-errors -d 'Remove also when SRC could not be read everywhere'
complete -c parcp -l dry-run -d 'Change nothing; show what would be done, and what it would cost'
complete -c parcp -l verify -d 'Read back what was written and compare'
complete -c parcp -l verify-only -d 'Change nothing; compare data and attributes, and list the differences. Options that say how files are written may stay'
complete -c parcp -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parcp -s v -l verbose -d 'List on stdout what is copied and deleted, and what the run cost on stderr; twice: also how it was set up'
complete -c parcp -l stats -d 'Print what the run did and cost at the end'
complete -c parcp -l no-progress -d 'Show no progress'
complete -c parcp -l help -d 'This help'
complete -c parcp -l version -d 'The version'
