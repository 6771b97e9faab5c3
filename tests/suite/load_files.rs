//! `parfs load`: which files a job works on and makes, and how much of them, where that was measured of fio 3.33.

use std::fs;

use super::load::Loads;

fn moved(loads: &Loads, line: &str) -> (u64, u64) {
    let document = loads.json(line);
    let job = &document["jobs"][0];
    let sum = |key: &str| ["read", "write"].iter().map(|direction| job[direction][key].as_u64().unwrap()).sum();
    (sum("total_ios"), sum("io_bytes"))
}

#[test]
fn a_file_that_is_read_and_appended_to_is_laid_out_with_what_is_appended() {
    for rw in ["read", "randread", "rw", "randrw"] {
        let loads = Loads::new();
        fs::write(loads.path("f"), [1; 10_000]).unwrap();
        let line = format!("--name=a --filename=f --rw={rw} --size=64k --file_append=1");
        assert_eq!(moved(&loads, &line), (16, 65536), "{rw}");
        assert_eq!(fs::metadata(loads.path("f")).unwrap().len(), 75_536, "{rw}");
    }
    let loads = Loads::new();
    fs::write(loads.path("f"), [1; 10_000]).unwrap();
    assert_eq!(moved(&loads, "--name=a --filename=f --rw=write --size=64k --file_append=1"), (16, 65536));
    let data = fs::read(loads.path("f")).unwrap();
    assert!(data.len() == 75_536 && data[..10_000] == [1; 10_000], "what is only appended to is kept");
}

#[test]
fn a_file_is_in_the_directory_that_stood_ahead_of_its_name() {
    let loads = Loads::new();
    ["d", "e"].iter().for_each(|dir| fs::create_dir(loads.path(dir)).unwrap());
    let job = "[global]\nrw=write\nsize=4k\nfilename=f\n[a]\nfilename=g\ndirectory=d\n[b]\nfilename=h\ndirectory=e\n";
    fs::write(loads.path("jobs.fio"), job).unwrap();
    loads.json("jobs.fio");
    assert!(["f", "d/g", "e/h"].iter().all(|file| loads.path(file).is_file()));
    assert!(!loads.path("d/f").exists() && !loads.path("d/h").exists());
}
