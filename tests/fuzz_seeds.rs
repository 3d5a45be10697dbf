//! The seeds of the fuzz targets, run as plain tests: a fuzzer needs another toolchain.

#[path = "../fuzz/checks.rs"]
mod checks;

fn seeds(target: &str, least: usize, check: fn(&[u8])) {
    let folder = format!("{}/fuzz/corpus/{target}", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for seed in std::fs::read_dir(folder).unwrap() {
        check(&std::fs::read(seed.unwrap().path()).unwrap());
        count += 1;
    }
    assert!(count >= least, "{count} seeds of {target}");
}

#[test]
fn messages() {
    seeds("message", 20, checks::message);
}

#[test]
fn payloads() {
    seeds("payload", 8, checks::payload);
}

#[test]
fn events() {
    seeds("sse", 8, checks::sse);
}
