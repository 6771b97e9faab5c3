use super::super::random::Random;
use super::*;

const BLOCK: usize = 4096;

fn verifier(check: Check, interval: usize, mark_at: usize) -> Verifier {
    let pattern = matches!(check, Check::Pattern | Check::PatternHdr).then(|| Pattern::parse("0xdeadbe%o").unwrap());
    Verifier::new(check, Some(interval), BLOCK, mark_at, pattern).unwrap()
}

fn block(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    (0..BLOCK).map(|_| random.bits() as u8).collect()
}

const WRITTEN: Written = Written { offset: 8192, seed: Some(77), sequence: Some(3) };

fn marked(verifier: &Verifier, written: &Written) -> Vec<u8> {
    let mut block = block(1);
    verifier.mark(&mut block, written);
    block
}

#[test]
fn what_was_written_verifies() {
    for (name, check) in NAMES {
        assert_eq!(Check::named(name), Some(check));
        for (interval, mark_at) in [(BLOCK, 0), (512, 0), (1000, 100)] {
            let verifier = verifier(check, interval, mark_at);
            assert_eq!(verifier.verify(&marked(&verifier, &WRITTEN), &WRITTEN), Ok(()), "{name} {interval} {mark_at}");
        }
    }
}

#[test]
fn every_flipped_byte_is_found() {
    for (name, check) in NAMES {
        let verifier = verifier(check, 1024, 64);
        let mut block = marked(&verifier, &WRITTEN);
        for at in (0..BLOCK).step_by(7) {
            block[at] ^= 0x10;
            let found = verifier.verify(&block, &WRITTEN).is_err();
            let in_mark = (64..64 + HEADER_LEN).contains(&(at % 1024));
            let wanted = match check {
                Check::Null => false,
                Check::Meta => in_mark,
                _ => true,
            };
            assert_eq!(found, wanted, "{name}, byte {at}");
            block[at] ^= 0x10;
        }
    }
}

/// As with bs_unaligned=: the last mark is of all that is left.
#[test]
fn the_end_of_a_block_of_any_length_is_checked() {
    for (name, check) in NAMES.into_iter().filter(|(_, check)| !matches!(check, Check::Null | Check::Meta)) {
        let verifier = verifier(check, 1024, 64);
        for len in [1024, 1025, 1100, 2047, 2048, 4000] {
            let mut block = block(1);
            block.truncate(len);
            verifier.mark(&mut block, &WRITTEN);
            assert_eq!(verifier.verify(&block, &WRITTEN), Ok(()), "{name} {len}");
            block[len - 1] ^= 0x10;
            assert!(verifier.verify(&block, &WRITTEN).is_err(), "{name} {len}");
        }
    }
}

#[test]
fn missing_misplaced_and_stale_blocks_are_found() {
    let verifier = verifier(Check::Crc32c, BLOCK, 0);
    let wrong = |block: &[u8], written: &Written| verifier.verify(block, written).unwrap_err().wrong;
    assert_eq!(wrong(&[0; BLOCK], &WRITTEN), Wrong::Magic { found: 0 }, "missing: zeros");
    let elsewhere = Written { offset: 4096, ..WRITTEN };
    assert_eq!(wrong(&marked(&verifier, &elsewhere), &WRITTEN), Wrong::Offset { found: 4096, wanted: 8192 });
    let earlier = Written { sequence: Some(2), ..WRITTEN };
    assert_eq!(wrong(&marked(&verifier, &earlier), &WRITTEN), Wrong::Sequence { found: 2, wanted: 3 });
    let other = Written { seed: Some(1), ..WRITTEN };
    assert_eq!(wrong(&marked(&verifier, &other), &WRITTEN), Wrong::Seed { found: 1, wanted: 77 });
    let any = Written { sequence: None, ..WRITTEN };
    assert_eq!(verifier.verify(&marked(&verifier, &earlier), &any), Ok(()), "the order of writes is not known");
    let any = Written { seed: None, ..WRITTEN };
    assert_eq!(verifier.verify(&marked(&verifier, &other), &any), Ok(()), "the writer's seed is not known");
    assert_eq!(wrong(&[0; 10], &WRITTEN), Wrong::Short);
}

#[test]
fn one_check_s_marks_are_not_another_s() {
    let block = marked(&verifier(Check::Md5, BLOCK, 0), &WRITTEN);
    let wrong = verifier(Check::Crc64, BLOCK, 0).verify(&block, &WRITTEN).unwrap_err().wrong;
    assert_eq!(wrong, Wrong::Kind { found: 1, wanted: 5 });
}

#[test]
fn any_bytes_can_be_read() {
    for (_, check) in NAMES {
        let verifier = verifier(check, 512, 40);
        for seed in 0..50 {
            let block = block(seed);
            let _ = verifier.verify(&block[..seed as usize * 80], &WRITTEN);
        }
    }
}

#[test]
fn checksums_are_the_known_ones() {
    let hex =
        |check: Check| check.sum([b"12345", b"6789"]).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(hex(Check::Crc32c), "e3069283");
    assert_eq!(hex(Check::Crc32), "cbf43926");
    assert_eq!(hex(Check::Crc64), "995dc9bbdf1939fa");
    assert_eq!(hex(Check::Crc16), "bb3d");
    assert_eq!(hex(Check::Crc7), "75");
    assert_eq!(hex(Check::Md5), "25f9e794323b453885f5181f1b624d0b");
    assert_eq!(hex(Check::Sha1), "f7c3bc1d808e04732adf679965ccc34ca7ae3441");
    for (_, check) in NAMES {
        assert_eq!(check.sum([b"a", b"b"]).len(), check.sum_len());
    }
}

#[test]
fn messages_are_fio_s() {
    let verifier = verifier(Check::Crc32c, BLOCK, 0);
    let mut block = marked(&verifier, &WRITTEN);
    block[1000] ^= 1;
    let text = Told(&verifier.verify(&block, &WRITTEN).unwrap_err(), "f").to_string();
    let first = "crc32c: verify failed at file f offset 8192, length 4096 (requested block: offset=8192, length=4096)\n       Expected CRC: ";
    assert!(text.starts_with(first), "{text}");
    let text = Told(&verifier.verify(&[0; BLOCK], &WRITTEN).unwrap_err(), "f").to_string();
    assert!(text.starts_with("verify: bad magic header 0, wanted acca at file f offset 8192, length 4096"), "{text}");
}

#[test]
fn what_cannot_be_verified() {
    assert!(Verifier::new(Check::Md5, Some(79), BLOCK, 0, None).is_err());
    assert!(Verifier::new(Check::Sha512, Some(100), BLOCK, 0, None).is_err());
    assert!(Verifier::new(Check::Md5, None, 64, 0, None).is_err(), "blocks are too small");
    assert!(Verifier::new(Check::Pattern, None, BLOCK, 0, None).is_err());
    assert_eq!(Check::named("sha3-256"), Some(Check::Sha3_256));
    let empty: String = Check::Sha3_256.sum([b"", b""]).iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(empty.starts_with("a7ffc6f8bf1ed766") && empty.ends_with("80f8434a"), "FIPS 202: {empty}");
}
