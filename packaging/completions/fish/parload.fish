complete -c parload -s o -l output -d 'Results go to FILE' -r
complete -c parload -s F -l output-format -d 'terse, json, json+, normal; several with commas' -r
complete -c parload -s f -l append-terse -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parload -s V -l terse-version -d 'Terse lines (versions 2 to 5; 3 if not given)' -r
complete -c parload -s c -l cmdhelp -d 'Job options' -r
complete -c parload -s i -l enghelp -d 'Engines and their options' -r
complete -c parload -s e -l eta -d 'The status line: always, never, auto (on a terminal)' -r
complete -c parload -s O -l eta-interval -d 'How often it is refreshed, and goes to a new line' -r
complete -c parload -s E -l eta-newline -d 'How often it is refreshed, and goes to a new line' -r
complete -c parload -s x -l section -d 'Only these sections of job files' -r
complete -c parload -l alloc-size -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parload -s j -l max-jobs -d 'Taken, and nothing comes of them: as in fio there is room for all jobs' -r
complete -c parload -s L -l status-interval -d 'Results so far, again and again' -r
complete -c parload -s K -l aux-path -d 'Where the state files of verify_state_save=1 go' -r
complete -c parload -s b -l bandwidth-log -d 'Bytes a second of all jobs together go to NAME-read_bw.log and so on; NAME is agg if not given' -r
complete -c parload -s I -l idle-prof -d 'How idle processors were while jobs ran: system (their mean) or percpu (each too); calibrate measures only the unit of work that idle time is told by' -r
complete -c parload -s d -l debug -d 'Tells line by line of io (each I/O), random (seeds, and where random I/Os go) or all, in the report or, where there is none, on standard error; help lists the types' -r
complete -c parload -l scale -d 'Runs the jobs on the first N of their targets (x_targets=, nfs_url=, directory=), with N times the clones, one number after the other, and prints a table: I/Os a second of each target and in all, how linear that is, priced IOPS against the ceiling of a mount target, forecast and fact, and what bound it' -r
complete -c parload -l scale-ceilings -d 'The targets have FACTOR of the ceilings of an OCI mount target' -r
complete -c parload -l sweep -d 'Runs the jobs with each combination of these values: --sweep bs=4k,8k rwmix=100,70,0' -r
complete -c parload -l report-csv -d 'The table goes to FILE as CSV; with --output-format=json it is in x_scale' -r
complete -c parload -l report-html -d 'The table, IOPS and throughput against targets, latencies over time and cumulative, as one HTML file' -r
complete -c parload -l compare -d 'Whether two runs differ: Welch\'s test on those samples, job by job; exit status 0 whatever it says. Half seconds of one run are not independent, so that a p not far below 0.05 says little' -r
complete -c parload -l description -d 'a text' -r
complete -c parload -l name -d 'a text' -r
complete -c parload -l wait_for -d 'a text' -r
complete -c parload -l filename -d 'names separated by \':\'' -r
complete -c parload -l directory -d 'names separated by \':\'' -r
complete -c parload -l filename_format -d 'a text; $jobname.$jobnum.$filenum if not given' -r
complete -c parload -l unique_filename -d '0 or 1; 1 if not given' -r
complete -c parload -l rw -l readwrite -d 'one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, trimwrite, randtrimwrite; read if not given' -r -f -a "read\t''
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
complete -c parload -l bs -l blocksize -d 'a number, or one each for reads, writes and trims; 4096 if not given' -r
complete -c parload -l bsrange -l blocksize_range -d 'a range of sizes, or one each' -r
complete -c parload -l bssplit -d 'SIZE/PERCENT:..., or one each' -r
complete -c parload -l randrepeat -d '0 or 1; 1 if not given' -r
complete -c parload -l allrandrepeat -d '0 or 1; 0 if not given' -r
complete -c parload -l randseed -d 'a size or count; 0x89 if not given' -r
complete -c parload -l norandommap -d '0 or 1; 0 if not given' -r
complete -c parload -l ioengine -d 'a text; psync if not given' -r
complete -c parload -l iodepth -d 'a number from 1 to 4294967295; 1 if not given' -r
complete -c parload -l iodepth_batch -l iodepth_batch_submit -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l iodepth_batch_complete_min -l iodepth_batch_complete -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l iodepth_batch_complete_max -d 'a number from 0 to 4294967295' -r
complete -c parload -l iodepth_low -d 'a number from 0 to 4294967295' -r
complete -c parload -l size -d 'a size, or a percentage' -r
complete -c parload -l io_size -l io_limit -d 'a size, or a percentage' -r
complete -c parload -l fill_device -l fill_fs -d '0 or 1; 0 if not given' -r
complete -c parload -l filesize -d 'a size, or a range' -r
complete -c parload -l file_append -d '0 or 1; 0 if not given' -r
complete -c parload -l offset -l fileoffset -d 'a size, or a percentage; 0 if not given' -r
complete -c parload -l offset_increment -d 'a size, or a percentage; 0 if not given' -r
complete -c parload -l number_ios -d 'a size or count; 0 if not given' -r
complete -c parload -l nrfiles -l nr_files -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l file_service_type -d 'one of random, zipf, pareto, normal, gauss, roundrobin, sequential; roundrobin if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
gauss\t''
roundrobin\t''
sequential\t''"
complete -c parload -l openfiles -d 'a number from 0 to 4294967295' -r
complete -c parload -l fallocate -d 'one of none, native, posix, keep, truncate, 0, 1; native if not given' -r -f -a "none\t''
native\t''
posix\t''
keep\t''
truncate\t''
0\t''
1\t''"
complete -c parload -l fadvise_hint -d 'one of 0, 1, random, sequential, noreuse; 1 if not given' -r -f -a "0\t''
1\t''
random\t''
sequential\t''
noreuse\t''"
complete -c parload -l fsync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parload -l fdatasync -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parload -l direct -d '0 or 1; 0 if not given' -r
complete -c parload -l buffered -d '0 or 1; 1 if not given' -r
complete -c parload -l overwrite -d '0 or 1; 0 if not given' -r
complete -c parload -l loops -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l numjobs -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l startdelay -d 'a time, or a range; 0 if not given' -r
complete -c parload -l runtime -l timeout -d 'a time; 0 if not given' -r
complete -c parload -l time_based -d '0 or 1; 0 if not given' -r
complete -c parload -l ramp_time -d 'a time; 0 if not given' -r
complete -c parload -l verify -d 'one of 0, md5, crc64, crc32, crc32c-intel, crc32c, crc16, crc7, sha1, sha256, sha512, sha3-224, sha3-256, sha3-384, sha3-512, xxhash, meta, pattern, pattern_hdr, null; 0 if not given' -r -f -a "0\t''
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
complete -c parload -l do_verify -d '0 or 1; 1 if not given' -r
complete -c parload -l verify_pattern -d 'a text' -r
complete -c parload -l verify_fatal -d '0 or 1; 0 if not given' -r
complete -c parload -l rwmixread -d 'a number from 0 to 100; 50 if not given' -r
complete -c parload -l rwmixwrite -d 'a number from 0 to 100; 50 if not given' -r
complete -c parload -l thinktime -d 'a time; 0 if not given' -r
complete -c parload -l rate -d 'a number, or one each for reads, writes and trims' -r
complete -c parload -l rate_iops -d 'a number, or one each for reads, writes and trims' -r
complete -c parload -l invalidate -d '0 or 1; 1 if not given' -r
complete -c parload -l sync -d 'one of none, 0, sync, 1, dsync; none if not given' -r -f -a "none\t''
0\t''
sync\t''
1\t''
dsync\t''"
complete -c parload -l create_serialize -d '0 or 1; 1 if not given' -r
complete -c parload -l create_fsync -d '0 or 1; 1 if not given' -r
complete -c parload -l create_on_open -d '0 or 1; 0 if not given' -r
complete -c parload -l create_only -d '0 or 1; 0 if not given' -r
complete -c parload -l allow_file_create -d '0 or 1; 1 if not given' -r
complete -c parload -l pre_read -d '0 or 1; 0 if not given' -r
complete -c parload -l end_fsync -d '0 or 1; 0 if not given' -r
complete -c parload -l fsync_on_close -d '0 or 1; 0 if not given' -r
complete -c parload -l unlink -d '0 or 1; 0 if not given' -r
complete -c parload -l exitall -d '0 or 1; 0 if not given' -r
complete -c parload -l exitall_on_error -d '0 or 1; 0 if not given' -r
complete -c parload -l stonewall -l wait_for_previous -d '0 or 1; 0 if not given' -r
complete -c parload -l new_group -d '0 or 1; 0 if not given' -r
complete -c parload -l thread -d '0 or 1; 0 if not given' -r
complete -c parload -l per_job_logs -d '0 or 1; 1 if not given' -r
complete -c parload -l write_bw_log -d 'a text' -r
complete -c parload -l write_lat_log -d 'a text' -r
complete -c parload -l write_iops_log -d 'a text' -r
complete -c parload -l log_avg_msec -d 'a time; 0 if not given' -r
complete -c parload -l log_offset -d '0 or 1; 0 if not given' -r
complete -c parload -l group_reporting -d '0 or 1; 0 if not given' -r
complete -c parload -l stats -d '0 or 1; 1 if not given' -r
complete -c parload -l zero_buffers -d '0 or 1; 0 if not given' -r
complete -c parload -l refill_buffers -d '0 or 1; 0 if not given' -r
complete -c parload -l scramble_buffers -d '0 or 1; 1 if not given' -r
complete -c parload -l buffer_pattern -d 'a text' -r
complete -c parload -l buffer_compress_percentage -d 'a number from 0 to 100' -r
complete -c parload -l buffer_compress_chunk -d 'a number from 0 to 4294967295; 512 if not given' -r
complete -c parload -l clat_percentiles -d '0 or 1; 1 if not given' -r
complete -c parload -l lat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parload -l slat_percentiles -d '0 or 1; 0 if not given' -r
complete -c parload -l percentile_list -d 'numbers separated by \':\'; 1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99 if not given' -r
complete -c parload -l significant_figures -d 'a number from 1 to 10; 4 if not given' -r
complete -c parload -l disk_util -d '0 or 1; 1 if not given' -r
complete -c parload -l gtod_reduce -d '0 or 1; 0 if not given' -r
complete -c parload -l disable_lat -d '0 or 1; 0 if not given' -r
complete -c parload -l disable_clat -d '0 or 1; 0 if not given' -r
complete -c parload -l disable_slat -d '0 or 1; 0 if not given' -r
complete -c parload -l unified_rw_reporting -d 'one of none, mixed, both, 0, 1, 2; none if not given' -r -f -a "none\t''
mixed\t''
both\t''
0\t''
1\t''
2\t''"
complete -c parload -l continue_on_error -d 'one of none, read, write, io, verify, all, 0, 1; none if not given' -r -f -a "none\t''
read\t''
write\t''
io\t''
verify\t''
all\t''
0\t''
1\t''"
complete -c parload -l kb_base -d 'one of 1024, 1000; 1024 if not given' -r -f -a "1024\t''
1000\t''"
complete -c parload -l unit_base -d 'one of 0, 8, 1; 0 if not given' -r -f -a "0\t''
8\t''
1\t''"
complete -c parload -l opendir -d 'a text' -r
complete -c parload -l ba -l blockalign -d 'a number, or one each for reads, writes and trims' -r
complete -c parload -l bs_unaligned -l blocksize_unaligned -d '0 or 1; 0 if not given' -r
complete -c parload -l zonemode -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parload -l softrandommap -d '0 or 1; 0 if not given' -r
complete -c parload -l random_generator -d 'one of tausworthe, lfsr, tausworthe64; tausworthe if not given' -r -f -a "tausworthe\t''
lfsr\t''
tausworthe64\t''"
complete -c parload -l random_distribution -d 'one of random, zipf, pareto, normal, zoned, zoned_abs; random if not given' -r -f -a "random\t''
zipf\t''
pareto\t''
normal\t''
zoned\t''
zoned_abs\t''"
complete -c parload -l percentage_random -d 'a number, or one each for reads, writes and trims; 100,100,100 if not given' -r
complete -c parload -l rw_sequencer -d 'one of sequential, identical; sequential if not given' -r -f -a "sequential\t''
identical\t''"
complete -c parload -l ignore_error -d 'a text' -r
complete -c parload -l error_dump -d '0 or 1; 0 if not given' -r
complete -c parload -l serialize_overlap -d '0 or 1; 0 if not given' -r
complete -c parload -l io_submit_mode -d 'one of inline, offload; inline if not given' -r -f -a "inline\t''
offload\t''"
complete -c parload -l offset_align -d 'a number, or one each for reads, writes and trims; 0 if not given' -r
complete -c parload -l sync_file_range -d 'a text' -r
complete -c parload -l clocksource -d 'one of gettimeofday, clock_gettime, cpu' -r -f -a "gettimeofday\t''
clock_gettime\t''
cpu\t''"
complete -c parload -l gtod_cpu -d 'a number from 0 to 4294967295' -r
complete -c parload -l mem -l iomem -d 'one of malloc, shm, mmap, mmapshared, shmhuge, mmaphuge; malloc if not given' -r -f -a "malloc\t''
shm\t''
mmap\t''
mmapshared\t''
shmhuge\t''
mmaphuge\t''"
complete -c parload -l iomem_align -l mem_align -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parload -l verify_only -d '0 or 1; 0 if not given' -r
complete -c parload -l verify_interval -d 'a number from 80 to 4294967295' -r
complete -c parload -l verify_offset -d 'a number from 40 to 4294967295' -r
complete -c parload -l verify_dump -d '0 or 1; 0 if not given' -r
complete -c parload -l verify_async -d 'a number from 0 to 4294967295; 0 if not given' -r
complete -c parload -l verify_async_cpus -d 'processors' -r
complete -c parload -l verify_backlog -d 'a size or count' -r
complete -c parload -l verify_backlog_batch -d 'a number from 0 to 4294967295' -r
complete -c parload -l experimental_verify -d '0 or 1; 0 if not given' -r
complete -c parload -l verify_write_sequence -d '0 or 1; 1 if not given' -r
complete -c parload -l verify_header_seed -d '0 or 1; 1 if not given' -r
complete -c parload -l verify_state_load -d '0 or 1; 0 if not given' -r
complete -c parload -l verify_state_save -d '0 or 1; 1 if not given' -r
complete -c parload -l dedupe_percentage -d 'a number from 0 to 100' -r
complete -c parload -l write_iolog -d 'a text' -r
complete -c parload -l read_iolog -d 'a text' -r
complete -c parload -l replay_no_stall -d '0 or 1; 0 if not given' -r
complete -c parload -l replay_time_scale -d 'a number from 1 to 2147483647; 100 if not given' -r
complete -c parload -l replay_scale -d 'a number from 1 to 2147483647; 1 if not given' -r
complete -c parload -l replay_align -d 'a number from 0 to 2147483647; 0 if not given' -r
complete -c parload -l exec_prerun -d 'a text' -r
complete -c parload -l exec_postrun -d 'a text' -r
complete -c parload -l nice -d 'a number from -20 to 19; 0 if not given' -r
complete -c parload -l prio -d 'a number from 0 to 7' -r
complete -c parload -l prioclass -d 'a number from 0 to 3' -r
complete -c parload -l thinktime_spin -d 'a time; 0 if not given' -r
complete -c parload -l thinktime_blocks -d 'a number from 0 to 4294967295; 1 if not given' -r
complete -c parload -l thinktime_blocks_type -d 'one of complete, issue; complete if not given' -r -f -a "complete\t''
issue\t''"
complete -c parload -l thinktime_iotime -d 'a time; 0 if not given' -r
complete -c parload -l rate_min -l ratemin -d 'a number, or one each for reads, writes and trims' -r
complete -c parload -l rate_iops_min -d 'a number, or one each for reads, writes and trims' -r
complete -c parload -l rate_process -d 'one of linear, poisson; linear if not given' -r -f -a "linear\t''
poisson\t''"
complete -c parload -l rate_cycle -l ratecycle -d 'a time; 1000 if not given' -r
complete -c parload -l rate_ignore_thinktime -d '0 or 1; 0 if not given' -r
complete -c parload -l max_latency -d 'a time' -r
complete -c parload -l latency_target -d 'a time' -r
complete -c parload -l latency_window -d 'a time' -r
complete -c parload -l latency_percentile -d 'numbers separated by \':\'; 100 if not given' -r
complete -c parload -l latency_run -d '0 or 1; 0 if not given' -r
complete -c parload -l cpus_allowed -d 'processors' -r
complete -c parload -l cpus_allowed_policy -d 'one of shared, split; shared if not given' -r -f -a "shared\t''
split\t''"
complete -c parload -l numa_cpu_nodes -d 'processors' -r
complete -c parload -l unlink_each_loop -d '0 or 1; 0 if not given' -r
complete -c parload -l exit_what -d 'one of group, stonewall, all; group if not given' -r -f -a "group\t''
stonewall\t''
all\t''"
complete -c parload -l bwavgtime -d 'a time; 500 if not given' -r
complete -c parload -l iopsavgtime -d 'a time; 500 if not given' -r
complete -c parload -l log_entries -d 'a number from 1024 to 1048576; 1024 if not given' -r
complete -c parload -l log_hist_msec -d 'a time; 0 if not given' -r
complete -c parload -l log_hist_coarseness -d 'a number from 0 to 6; 0 if not given' -r
complete -c parload -l write_hist_log -d 'a text' -r
complete -c parload -l log_max_value -d '0 or 1; 0 if not given' -r
complete -c parload -l log_window_value -d 'one of avg, max, both, 0, 1; avg if not given' -r -f -a "avg\t''
max\t''
both\t''
0\t''
1\t''"
complete -c parload -l log_unix_epoch -d '0 or 1; 0 if not given' -r
complete -c parload -l disable_bw_measurement -l disable_bw -d '0 or 1; 0 if not given' -r
complete -c parload -l uid -d 'a number from 0 to 4294967295' -r
complete -c parload -l gid -d 'a number from 0 to 4294967295' -r
complete -c parload -l steadystate -l ss -d 'one of iops, iops_slope, bw, bw_slope; iops_slope:0.01% if not given' -r -f -a "iops\t''
iops_slope\t''
bw\t''
bw_slope\t''"
complete -c parload -l steadystate_duration -l ss_dur -d 'a time; 0 if not given' -r
complete -c parload -l steadystate_ramp_time -l ss_ramp -d 'a time; 0 if not given' -r
complete -c parload -l zonesize -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l trim_percentage -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l flow -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l log_prio -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l atomic -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l log_alternate_epoch -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l dedupe_mode -d 'one of repeat; repeat if not given' -r -f -a "repeat\t''"
complete -c parload -l dedupe_global -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l write_barrier -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l lockfile -d 'one of none; none if not given' -r -f -a "none\t''"
complete -c parload -l numa_mem_policy -d 'one of default; default if not given' -r -f -a "default\t''"
complete -c parload -l bs_is_seq_rand -d 'one of 0; 0 if not given' -r -f -a "0\t''"
complete -c parload -l stat_type -d 'one of stat; stat if not given' -r -f -a "stat\t''"
complete -c parload -l registerfiles -d '0 or 1; 0 if not given' -r
complete -c parload -l fixedbufs -d '0 or 1; 0 if not given' -r
complete -c parload -l hipri -d '0 or 1; 0 if not given' -r
complete -c parload -l sqthread_poll -d '0 or 1; 0 if not given' -r
complete -c parload -l nonvectored -d 'a number from 0 to 1; 1 if not given' -r
complete -c parload -l uncached -d 'a number from 0 to 1; 0 if not given' -r
complete -c parload -l nfs_url -d 'a text' -r
complete -c parload -l x_nconnect -d 'a number from 1 to 16' -r
complete -c parload -l x_targets -d 'a text' -r
complete -c parload -l x_per_target -d '0 or 1; 0 if not given' -r
complete -c parload -l x_samples -d '0 or 1; 0 if not given' -r
complete -c parload -s m -l minimal -d 'Terse lines (versions 2 to 5; 3 if not given)'
complete -c parload -s v -l version -d 'The version; this help'
complete -c parload -s h -l help -d 'The version; this help'
complete -c parload -s s -l showcmd -d 'Shows job files as command lines'
complete -c parload -s r -l readonly -d 'Refuses jobs that write'
complete -c parload -s P -l parse-only -d 'Checks jobs, and does nothing'
complete -c parload -s w -l warnings-fatal -d 'Refuses jobs of which a warning would be told'
complete -c parload -l per-target -d 'Results of each target beneath those of a job, of a URL\'s hosts together (as x_per_target=1; in JSON x_per_target)'
complete -c parload -l x-samples -d 'JSON has x_samples: what each job did in each half second (as x_samples=1)'
