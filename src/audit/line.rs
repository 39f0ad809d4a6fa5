//! From a record to its line: one line of printable ASCII that is JSON, of at most 8 KiB.
//!
//! In: a record, what all records say alike, the place in the chain. Out: the line without its line break. Everything
//! but printable ASCII is escaped, so that no name, path or title can start a line, steer a terminal or turn the
//! direction of a text; what would be too long is cut, and the line says `truncated`.

use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::{
    audit::{
        chain::{LINE_BYTES, Link, VERSION},
        context::Context,
        record::{Decided, Ended, Record},
    },
    text,
};

/// To how many bytes texts, and to how many items lists are cut, until a line fits.
const CUTS: [(usize, usize); 4] = [(1_000, 20), (300, 10), (100, 5), (30, 3)];

/// Writes a line; one that has no place in the chain is for a sink that is not the file.
pub(super) fn line(context: &Context, link: Option<&Link>, record: &Record) -> String {
    let fields = fields(context, link, record);
    let whole = ascii(&Value::Object(fields.clone()));
    if whole.len() < LINE_BYTES {
        return whole;
    }
    let mut cut = fields;
    cut.insert("truncated".to_owned(), true.into());
    for (bytes, items) in CUTS {
        cut.values_mut().for_each(|value| shorten(value, bytes, items));
        let text = ascii(&Value::Object(cut.clone()));
        if text.len() < LINE_BYTES {
            return text;
        }
    }
    // The rest is a fixed number of short texts.
    for name in ["arguments", "layers"] {
        cut.remove(name);
    }
    ascii(&Value::Object(cut))
}

fn fields(context: &Context, link: Option<&Link>, record: &Record) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() {
            fields.insert(name.to_owned(), value);
        }
    };
    put("v", VERSION.into());
    put("time", humantime::format_rfc3339_millis(SystemTime::now()).to_string().into());
    if let Some(link) = link {
        put("chain", link.chain.clone().into());
        put("seq", link.seq.into());
        put("prev", link.prev.clone().into());
    }
    put("event", record.event().into());
    put("decision", record.decision().map(|decision| decision.to_string()).into());
    match record {
        Record::Started { layers } => put("layers", layers.clone()),
        Record::Decided(decided) => put_decided(&mut put, decided),
        Record::Ended { ended, .. } => put_ended(&mut put, ended),
        Record::Stopped { reason } => put("reason", (*reason).into()),
        Record::Continued { reason, after } => {
            put("reason", reason.as_str().into());
            put("after", json!({ "chain": after.chain, "seq": after.seq, "digest": after.digest }));
        }
    }
    put("who", context.who.clone());
    put("server", env!("CARGO_PKG_VERSION").into());
    put("policy", context.policy.clone().into());
    fields
}

fn put_decided(put: &mut impl FnMut(&str, Value), decided: &Decided) {
    put("verdict", decided.verdict.as_str().into());
    put("tool", decided.call.tool.clone().into());
    put("rule", decided.rule.clone().into());
    put("place", decided.place.clone().into());
    put("subject", decided.subject.clone().into());
    put("arguments", decided.call.arguments.clone().into());
    put("sandbox", decided.sandbox.clone().into());
    if let Some(client) = &decided.call.client {
        put("client", json!({ "claimed": true, "name": client.name, "version": client.version }));
    }
}

fn put_ended(put: &mut impl FnMut(&str, Value), ended: &Ended) {
    put("outcome", ended.outcome.into());
    put("error", ended.error.clone().into());
    put("run", ended.run.clone().into());
    put("exit_code", ended.exit_code.into());
    put("signal", ended.signal.into());
    put("duration_ms", ended.duration_ms.into());
    put("report_bytes", ended.report_bytes.into());
    put("sandbox", ended.sandbox.clone().into());
}

/// JSON in printable ASCII. What is beyond it stands inside strings only, where it can be escaped.
pub fn ascii(value: &Value) -> String {
    let json = value.to_string();
    let mut line = String::with_capacity(json.len());
    for character in json.chars() {
        if matches!(character, ' '..='~') {
            line.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                line.extend(format!("\\u{unit:04x}").chars());
            }
        }
    }
    line
}

fn shorten(value: &mut Value, bytes: usize, items: usize) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => {
            // The chain's hashes have no more than 64.
            if text.len() > bytes && text.len() > 64 {
                *text = text::cut_end(text, bytes).into_owned();
            }
        }
        Value::Array(list) => {
            if list.len() > items {
                let more = list.len() - items;
                list.truncate(items);
                list.push(format!("… [{more} more]").into());
            }
            for item in list {
                shorten(item, bytes, items);
            }
        }
        Value::Object(entries) => entries.values_mut().for_each(|entry| shorten(entry, bytes, items)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::record::{Call, Client, DecisionId, Verdict};

    fn record(text: &str, arguments: Value) -> Record {
        let text = || text.to_owned();
        Record::Decided(Box::new(Decided {
            decision: DecisionId::draw().unwrap(),
            call: Call {
                tool: text(),
                client: Some(Client { name: text(), version: text() }),
                arguments: Some(arguments),
            },
            verdict: Verdict::Deny,
            rule: text(),
            place: text(),
            subject: text(),
            sandbox: None,
        }))
    }

    fn written(record: &Record) -> String {
        let context = Context { who: json!({ "uid": 1 }), policy: "0".to_owned(), layers: Value::Null };
        line(&context, Some(&Link::first(crate::audit::chain::NOTHING).unwrap()), record)
    }

    #[test]
    fn a_line_is_printable_ascii_and_parses_back_to_the_same_text() {
        for text in [
            "plain",
            "a\nb\r\n",
            "\u{1b}[31m",
            "\u{9b}31m",
            "\u{7f}",
            "\u{202e}txt",
            "\u{2028}\u{2029}",
            "日本 \u{1f600}",
            "\u{0}",
            "\\\"",
            "\",\"verdict\":\"allow\",\"x\":\"",
            "\n{\"v\":1}\n",
            "\u{e0041}\u{200b}",
        ] {
            let line = written(&record(text, json!({ text: [text] })));
            assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line}");
            let parsed: Value = serde_json::from_str(&line).unwrap();
            for pointer in ["/tool", "/subject", "/rule", "/client/name"] {
                assert_eq!(parsed.pointer(pointer).unwrap(), text);
            }
            assert_eq!(parsed["arguments"][text][0], text);
            assert_eq!(parsed["verdict"], "deny");
            assert_eq!(parsed.get("truncated"), None);
            assert!(Link::parse(line.as_bytes()).is_some());
        }
    }

    #[test]
    fn what_is_too_long_is_cut_and_the_line_says_so() {
        let many = |text: &str| {
            let entry = |number: usize| (format!("{number}{text}"), json!(vec![text; 40]));
            Value::Object((0..40).map(entry).collect())
        };
        for (rule, text, arguments) in [
            ("one long text", "x".repeat(100_000), Value::Null),
            ("texts that grow by escapes", "\u{1}".repeat(3_000), Value::Null),
            ("many arguments", "y".to_owned(), many(&"x".repeat(60))),
            ("many arguments that grow", "\u{7f}".repeat(9_000), many(&"\u{1f600}".repeat(15))),
        ] {
            let line = written(&record(&text, arguments));
            assert!(line.len() < LINE_BYTES, "{rule}: {}", line.len());
            let parsed: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(parsed["truncated"], true, "{rule}");
            assert!(Link::parse(line.as_bytes()).is_some(), "{rule}");
        }
        let just = written(&record("x", Value::Null));
        assert!(!just.contains("truncated"));
    }
}
