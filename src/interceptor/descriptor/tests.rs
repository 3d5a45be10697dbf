use serde_json::json;

use super::*;

fn read(json: &str) -> Descriptor {
    serde_json::from_str(json).unwrap()
}

fn write(descriptor: &Descriptor) -> String {
    serde_json::to_string(descriptor).unwrap()
}

fn plain(name: &str, kind: InterceptorType) -> Descriptor {
    Descriptor::new(name, kind).unwrap()
}

#[test]
fn cs_084_a_round_trip_keeps_the_bare_priority_and_compat() {
    let json = r#"{"name":"a","version":"1.0.0","description":"d","type":"mutation","hooks":[{"events":["tools/call"],"phase":"request"}],"priorityHint":-1000,"compat":{"minProtocol":"2024-11-05"}}"#;
    let descriptor = plain("a", InterceptorType::Mutation)
        .with_version("1.0.0")
        .with_description("d")
        .with_hook(Hook::parse(Phase::Request, ["tools/call"]).unwrap())
        .with_priority(-1000)
        .with_compat(Compat::since("2024-11-05"));
    assert_eq!(write(&descriptor), json);
    assert_eq!(read(json), descriptor);
}

#[test]
fn cs_091_ts_066_ts_133_unset_optionals_are_absent() {
    let json = write(&plain("a", InterceptorType::Validation).with_hook(Hook::all(Phase::Response)));
    assert_eq!(
        json,
        r#"{"name":"a","type":"validation","hooks":[{"events":["*"],"phase":"response"}]}"#
    );
}

#[test]
fn cs_093_audit_and_fail_open_are_written() {
    let descriptor = plain("a", InterceptorType::Sink)
        .with_mode(Mode::Audit)
        .with_fail_open(true);
    let json = r#"{"name":"a","type":"sink","hooks":[],"mode":"audit","failOpen":true}"#;
    assert_eq!(write(&descriptor), json);
    assert_eq!(read(json), descriptor);
}

#[test]
fn py_041_defaults_that_python_writes_are_read_and_left_out() {
    let json = r#"{"name":"a","type":"mutation","hooks":[{"events":["tools/call"],"phase":"request"}],"mode":"active","failOpen":true,"priorityHint":{"request":-1000,"response":1000},"compat":{"minProtocol":"2025-06-18"}}"#;
    assert_eq!(write(&read(json)), json.replace(r#""mode":"active","#, ""));
}

#[test]
fn py_042_a_bare_hint() {
    let descriptor = read(r#"{"name":"a","type":"mutation","hooks":[],"priorityHint":-500.0}"#);
    assert_eq!(
        write(&descriptor),
        r#"{"name":"a","type":"mutation","hooks":[],"priorityHint":-500}"#
    );
    assert_eq!(descriptor.priority(Phase::Response), -500);
}

#[test]
fn py_044_defaults() {
    for json in [
        r#"{"name":"a","type":"validation","hooks":[]}"#,
        r#"{"name":"a","type":"validation","hooks":[],"mode":null,"failOpen":null,"priorityHint":null,"version":null,"compat":null,"configSchema":null,"_meta":null}"#,
        r#"{"name":"a","type":"validation","hooks":[],"mode":"","failOpen":false}"#,
    ] {
        let descriptor = read(json);
        assert_eq!(descriptor, plain("a", InterceptorType::Validation), "{json}");
        assert_eq!((descriptor.mode, descriptor.fail_open), (Mode::Active, false));
        assert_eq!(descriptor.priority(Phase::Request), 0);
    }
}

#[test]
fn py_023_ts_134_members_nobody_knows_and_odd_numbers_survive() {
    let json = r#"{"name":"a","type":"quota","hooks":[],"priorityHint":{"request":7,"response":7},"configSchema":{"maximum":1.10,"type":"object"},"_meta":{"z":1,"a":1e2},"x-owner":{"b":[1.0],"a":null},"icons":[]}"#;
    let descriptor = read(json);
    assert_eq!(write(&descriptor), json);
    assert!(descriptor.kind.is_unknown());
}

#[test]
fn members_are_written_in_their_order_wherever_they_were() {
    assert_eq!(
        write(&read(
            r#"{"x":1,"_meta":{},"hooks":[],"priorityHint":{},"type":"sink","failOpen":true,"configSchema":{},"version":"1","name":"a","mode":"audit","description":"d","compat":{"minProtocol":"1"}}"#
        )),
        r#"{"name":"a","version":"1","description":"d","type":"sink","hooks":[],"mode":"audit","failOpen":true,"priorityHint":{},"compat":{"minProtocol":"1"},"configSchema":{},"_meta":{},"x":1}"#
    );
}

#[test]
fn older_descriptors_are_read_and_written_in_the_new_form() {
    let new = r#"{"name":"a","type":"sink","hooks":[{"events":["*"],"phase":"request"},{"events":["*"],"phase":"response"}]}"#;
    for old in [
        r#"{"name":"a","type":"observability","events":["*"],"phase":"both"}"#,
        r#"{"name":"a","type":"observability","events":["*"],"mode":"enforce"}"#,
        r#"{"name":"a","type":"sink","hook":{"events":["*"],"phase":"both"}}"#,
        r#"{"name":"a","type":"sink","events":["*/request","*/response"],"phase":"both"}"#,
        r#"{"hooks":[{"phase":"both","events":["*"]}],"type":"sink","name":"a"}"#,
    ] {
        assert_eq!(write(&read(old)), new, "{old}");
    }
}

#[test]
fn what_must_not_be_guessed_is_an_error() {
    for json in [
        r#"{"type":"sink","hooks":[]}"#,
        r#"{"name":"","type":"sink","hooks":[]}"#,
        r#"{"name":1,"type":"sink","hooks":[]}"#,
        r#"{"name":"a","hooks":[]}"#,
        r#"{"name":"a","type":"sink"}"#,
        r#"{"name":"a","type":"sink","hooks":[],"mode":"off"}"#,
        r#"{"name":"a","type":"sink","hooks":[],"failOpen":"true"}"#,
        r#"{"name":"a","type":"sink","hooks":[],"failOpen":1}"#,
        r#"{"name":"a","type":"sink","hooks":[],"priorityHint":"high"}"#,
        r#"{"name":"a","name":"b","type":"sink","hooks":[]}"#,
        r#"{"name":"a","type":"sink","hooks":[],"mode":"active","mode":"audit"}"#,
        "[]",
    ] {
        assert!(serde_json::from_str::<Descriptor>(json).is_err(), "{json}");
    }
}

#[test]
fn an_empty_name_is_neither_made_nor_written() {
    assert_eq!(Descriptor::new("", InterceptorType::Sink), Err(EmptyName));
    let mut descriptor = plain("a", InterceptorType::Sink);
    descriptor.name.clear();
    assert!(serde_json::to_string(&descriptor).is_err());
}

#[test]
fn py_062_a_star_matches_any_filter() {
    let star = plain("a", InterceptorType::Sink).with_hook(Hook::all(Phase::Response));
    assert!(star.is_hooked_in_any_phase("prompts/get"));
    let tools =
        plain("a", InterceptorType::Sink).with_hook(Hook::parse(Phase::Request, ["tools/*"]).unwrap());
    assert!(tools.is_hooked_in_any_phase("tools/call") && !tools.is_hooked_in_any_phase("prompts/get"));
    assert!(tools.is_hooked("tools/call", Phase::Request) && !tools.is_hooked("tools/call", Phase::Response));
}

/// The descriptors that the SEP's text gives as examples, with the schemas shortened.
#[test]
fn the_seps_examples_round_trip() {
    let completion = r#"[{"events":["llm/completion","prompts/get"],"phase":"request"},{"events":["llm/completion","prompts/get"],"phase":"response"}]"#;
    let examples = [
        format!(
            r#"{{"name":"content-filter","version":"1.2.0","type":"mutation","hooks":{completion},"priorityHint":-500,"compat":{{"minProtocol":"2024-11-05"}}}}"#
        ),
        r#"{"name":"parameter-validator","version":"2.0.1","type":"validation","hooks":[{"events":["tools/call"],"phase":"request"}],"compat":{"minProtocol":"2024-11-05","maxProtocol":"2025-12-31"},"configSchema":{"type":"object","properties":{"strictMode":{"type":"boolean"}}}}"#.to_owned(),
        r#"{"name":"sampling-guard","version":"1.0.0","type":"validation","hooks":[{"events":["sampling/createMessage"],"phase":"request"}],"compat":{"minProtocol":"2025-06-18"}}"#.to_owned(),
        r#"{"name":"elicitation-pii-blocker","version":"1.0.0","type":"validation","hooks":[{"events":["elicitation/create"],"phase":"request"}],"compat":{"minProtocol":"2025-06-18"}}"#.to_owned(),
        r#"{"name":"audit-logger","version":"1.0.0","type":"validation","hooks":[{"events":["*"],"phase":"request"},{"events":["*"],"phase":"response"}],"mode":"audit","failOpen":true,"configSchema":{"type":"object","required":["destination"]}}"#.to_owned(),
    ];
    for json in examples {
        assert_eq!(write(&read(&json)), json);
    }
    // This one spells a default out.
    let explicit = r#"{"name":"pii-redactor","version":"2.1.0","type":"mutation","hooks":[{"events":["tools/call","llm/completion"],"phase":"request"},{"events":["tools/call","llm/completion"],"phase":"response"}],"failOpen":false,"priorityHint":{"request":-1000,"response":1000},"compat":{"minProtocol":"2024-11-05"}}"#;
    let redactor = read(explicit);
    assert_eq!(write(&redactor), explicit.replace(r#""failOpen":false,"#, ""));
    assert_eq!(Phase::ALL.map(|phase| redactor.priority(phase)), [-1000, 1000]);
}

#[test]
fn a_schema_can_be_given_as_a_value() {
    let descriptor = plain("a", InterceptorType::Sink).with_config_schema(json!({"type": "object"}));
    assert_eq!(descriptor.config_schema.unwrap().get(), r#"{"type":"object"}"#);
}
