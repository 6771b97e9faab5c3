complete -c parrm -l interactive -d 'never, or once (-I)' -r
complete -c parrm -l preserve-root -d '\'/\' is never removed (default); with =all, nor is any operand on another device than its parent, nor its contents' -r
complete -c parrm -l exclude -d 'Leave what matches the shell pattern alone, and the directories it is in' -r
complete -c parrm -l exclude-from -d 'Leave what matches a pattern of FILE alone, one a line' -r
complete -c parrm -l older-than -d 'Only what was modified before: 2w, 30d, 12h, 45m, 90s ago, or YYYY-MM-DD[ HH:MM[:SS]] in UTC' -r
complete -c parrm -l files-from -d 'Remove the paths listed in FILE (\'-\': standard input), one a line, relative to DIR or the working directory' -r
complete -c parrm -s P -l parallel -d 'Threads, together over all targets [default: what the targets suggest]' -r
complete -c parrm -l window -d 'Operations that each thread keeps in flight [default: what the targets suggest]' -r
complete -c parrm -l max-iops -d 'Stay below N IOPS of OCI\'s price list on each mount target, and on each file system of this host\'s disks' -r
complete -c parrm -l mounts -d 'Work through all of these mounts of one export, where an operand is on one of them (again for another export) [default: those found that show the same file system]' -r
complete -c parrm -l report -d 'Write what the run did and cost to FILE as JSON, also when it fails; an earlier report there is emptied first' -r
complete -c parrm -l log -d 'Append what happens to FILE, a JSON document a line: the beginning, messages, each failure, progress every 10 s, the end' -r
complete -c parrm -l metrics -d 'Answer Prometheus at http://ADDR/metrics while the run goes on: HOST:PORT, or a PORT of 127.0.0.1' -r
complete -c parrm -l progress -d 'Show progress on stderr (default when it is a terminal); json: a document a line each second' -r -f -a "line\t'A line for people'
json\t'JSON for programs'"
complete -c parrm -s r -l recursive -d 'Remove directories with what is in them (default)'
complete -c parrm -s f -l force -d 'What is not there is no error; takes -I back'
complete -c parrm -s d -l dir -d 'Remove directories only when they are empty, unless -r is given; in a list, what is in one may come before it'
complete -c parrm -l contents -d 'Remove what is in the operands, and keep them'
complete -c parrm -s I -d 'Ask once before more than three operands or a tree are removed'
complete -c parrm -s x -l one-file-system -d 'Leave directories of other file systems than the operand\'s alone'
complete -c parrm -l dry-run -d 'Remove nothing; show what would be removed, and what it would cost'
complete -c parrm -s 0 -l null -d 'The paths of --files-from end in NULs, the last one too, as find -print0 writes them'
complete -c parrm -l no-spread -d 'Work only through the mount that an operand is on'
complete -c parrm -s v -l verbose -d 'List on stdout what is removed, and what the run cost on stderr; twice: also how it was set up'
complete -c parrm -l no-progress -d 'Show no progress'
complete -c parrm -l help -d 'This help'
complete -c parrm -l version -d 'The version'
