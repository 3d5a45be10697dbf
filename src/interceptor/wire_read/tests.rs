use std::time::Duration;

use super::*;

fn answer(json: &str) -> Result<WireResult, InvalidAnswer> {
    WireResult::from_answer(json, "a", Phase::Request)
}

/// The answer as it would be written, or the error.
fn rewrite(json: &str) -> String {
    match answer(json) {
        Ok(result) => serde_json::to_string(&result).unwrap(),
        Err(error) => error.to_string(),
    }
}

const PASS: &str = r#"{"type":"validation","interceptor":"a","phase":"request","valid":true}"#;

#[test]
fn py_046_py_047_results_are_parsed_in_any_order_of_members() {
    for json in [
        PASS,
        r#"{"valid":true,"phase":"request","interceptor":"a","type":"validation"}"#,
        r#"{"interceptor":"a","valid":true,"type":"valid\u0061tion","phase":"request","severity":null,"messages":null,"info":null}"#,
    ] {
        assert_eq!(rewrite(json), PASS, "{json}");
    }
    assert_eq!(
        rewrite(r#"{"payload":{"b":1.10,"a":"\u00e9"},"modified":true,"type":"mutation"}"#),
        r#"{"type":"mutation","interceptor":"a","phase":"request","modified":true,"payload":{"b":1.10,"a":"\u00e9"}}"#
    );
}

#[test]
fn what_the_peer_left_out_is_filled_in() {
    for (json, written) in [
        (r#"{"valid":true}"#, PASS),
        (r#"{"valid":true,"interceptor":"","phase":null}"#, PASS),
        (r#"{"valid":true,"mode":"audit"}"#, PASS),
        (
            r#"{"modified":false,"payload":null}"#,
            r#"{"type":"mutation","interceptor":"a","phase":"request","modified":false}"#,
        ),
        (
            r#"{"recorded":true}"#,
            r#"{"type":"sink","interceptor":"a","phase":"request","recorded":true}"#,
        ),
        (
            r#"{"observed":false}"#,
            r#"{"type":"sink","interceptor":"a","phase":"request","recorded":false}"#,
        ),
        (
            r#"{"type":"observability","observed":true,"metrics":{"n":1.0}}"#,
            r#"{"type":"sink","interceptor":"a","phase":"request","recorded":true,"metrics":{"n":1.0}}"#,
        ),
    ] {
        assert_eq!(rewrite(json), written, "{json}");
    }
}

#[test]
fn go_005_go_006_go_007_nested_results_are_read() {
    assert_eq!(
        rewrite(r#"{"interceptor":"a","type":"validation","phase":"request","validation":{"valid":true}}"#),
        PASS
    );
    assert_eq!(
        rewrite(
            r#"{"interceptor":"a","type":"validation","phase":"request","durationMs":0,"validation":{"valid":false,"severity":"error","messages":[{"message":"no","severity":"error"}]}}"#
        ),
        r#"{"type":"validation","interceptor":"a","phase":"request","durationMs":0,"valid":false,"severity":"error","messages":[{"message":"no","severity":"error"}]}"#
    );
    assert_eq!(
        rewrite(
            r#"{"interceptor":"a","phase":"request","info":{"added":"injected"},"payload":{"injected":true},"mutation":{"modified":true}}"#
        ),
        r#"{"type":"mutation","interceptor":"a","phase":"request","modified":true,"payload":{"injected":true},"info":{"added":"injected"}}"#
    );
    assert!(rewrite(r#"{"valid":true,"validation":{"valid":false}}"#).contains("flat and in"));
}

#[test]
fn py_045_times_with_fractions_are_read_and_written_as_integers() {
    let result = answer(r#"{"valid":true,"durationMs":1.5}"#).unwrap();
    assert_eq!(result.duration, Some(Duration::from_micros(1500)));
    assert!(
        serde_json::to_string(&result)
            .unwrap()
            .contains(r#""durationMs":2,"#)
    );
    for odd in ["-1", "\"fast\"", "1e300", "null", "{}"] {
        let result = answer(&format!(r#"{{"valid":true,"durationMs":{odd}}}"#)).unwrap();
        assert_eq!(result.duration, None, "{odd}");
    }
}

#[test]
fn ts_063_flags_that_are_no_booleans_are_rejected() {
    for json in [
        r#"{"type":"validation","valid":"false"}"#,
        r#"{"type":"validation","valid":0}"#,
        r#"{"type":"validation","valid":null}"#,
        r#"{"type":"validation"}"#,
        r#"{"type":"validation","validation":{}}"#,
        r#"{"type":"validation","validation":true}"#,
        r#"{"type":"mutation","modified":1,"payload":{}}"#,
        r#"{"type":"mutation","payload":{}}"#,
        r#"{"type":"sink"}"#,
        r#"{"type":"sink","recorded":"yes"}"#,
        r#"{"type":"sink","observed":1}"#,
        r#"{"valid":"false"}"#,
    ] {
        assert!(answer(json).is_err(), "{json}");
    }
}

#[test]
fn a_changed_payload_must_be_there() {
    for json in [r#"{"modified":true}"#, r#"{"modified":true,"payload":null}"#] {
        assert!(rewrite(json).contains("no payload"), "{json}");
    }
    assert_eq!(
        rewrite(r#"{"modified":false,"payload":{"changed":"all the same"}}"#),
        r#"{"type":"mutation","interceptor":"a","phase":"request","modified":false}"#
    );
}

#[test]
fn py_048_an_unknown_type_is_kept_as_unknown() {
    let json =
        r#"{"type":"quota","interceptor":"a","phase":"request","durationMs":3,"left":1.10,"valid":true}"#;
    let result = answer(json).unwrap();
    assert_eq!(serde_json::to_string(&result).unwrap(), json);
    assert_eq!(result.outcome(), None);
    let error = result.into_outcome().unwrap_err();
    assert_eq!(error.to_string(), r#"a result of the unknown type "quota""#);
}

#[test]
fn ts_013_a_mutator_may_answer_with_a_verdict() {
    let result = answer(r#"{"type":"validation","valid":false}"#).unwrap();
    assert!(result.into_outcome().unwrap().blocks());
}

#[test]
fn what_is_contradictory_or_no_result_is_an_error() {
    for json in [
        r#"{"valid":true,"modified":false}"#,
        r#"{"valid":true,"valid":false}"#,
        r#"{"valid":true,"type":1}"#,
        r#"{"valid":true,"severity":"critical"}"#,
        r#"{"valid":true,"messages":"bad"}"#,
        r#"{"valid":true,"phase":"both"}"#,
        "{}",
        "[]",
        "null",
        r#"{"valid":true"#,
        r#"{"valid":true} x"#,
    ] {
        assert!(answer(json).is_err(), "{json}");
    }
}

#[test]
fn an_answer_in_anothers_name_or_for_another_phase_is_refused() {
    assert!(rewrite(r#"{"valid":true,"interceptor":"b"}"#).contains(r#"the name of "b""#));
    assert!(rewrite(r#"{"valid":true,"phase":"response"}"#).contains("the response phase"));
}

#[test]
fn a_reason_cannot_forge_a_log_line() {
    let error = rewrite(&format!(
        r#"{{"valid":true,"severity":"\n{}"}}"#,
        "x".repeat(10_000)
    ));
    assert!(
        error.len() < 400 && error.contains(r"\n") && !error.contains('\n'),
        "{error}"
    );
}

/// Whatever the order of the members, the same result is read.
#[test]
fn the_order_of_members_never_matters() {
    let members = [
        r#""type":"mutation""#,
        r#""interceptor":"a""#,
        r#""modified":true"#,
        r#""payload":[1.10]"#,
    ];
    let expected = rewrite(&format!("{{{}}}", members.join(",")));
    assert!(
        expected.starts_with(r#"{"type":"mutation","interceptor":"a""#),
        "{expected}"
    );
    for first in 0..members.len() {
        for second in 0..members.len() {
            let mut order = members;
            order.rotate_left(first);
            order.swap(0, second);
            assert_eq!(rewrite(&format!("{{{}}}", order.join(","))), expected);
        }
    }
}

#[test]
fn without_a_question_the_name_and_the_phase_must_be_there() {
    assert!(serde_json::from_str::<WireResult>(PASS).is_ok());
    for json in [
        r#"{"valid":true,"phase":"request"}"#,
        r#"{"valid":true,"interceptor":"a"}"#,
    ] {
        assert!(serde_json::from_str::<WireResult>(json).is_err(), "{json}");
    }
}

#[test]
fn deep_payloads_are_kept_raw() {
    let deep = format!("{}1{}", "[".repeat(5_000), "]".repeat(5_000));
    let result = answer(&format!(r#"{{"modified":true,"payload":{deep}}}"#)).unwrap();
    let Ok(Outcome::Mutation(mutation)) = result.into_outcome() else {
        panic!("a mutation")
    };
    assert_eq!(mutation.payload.unwrap().as_json(), deep);
}
