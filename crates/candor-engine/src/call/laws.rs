//! The laws of [`judge`], checked on every combination of facts.

use candor_hints::Verdict;

use super::judge::{
    CallStage, Expects, Facts, Judgment, Permission, RecordFact, RefusalReason, judge,
};

const BOTH: [bool; 2] = [false, true];
const VERDICTS: [Verdict; 3] = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
const STAGES: [CallStage; 3] =
    [CallStage::First, CallStage::ApprovalAnswered, CallStage::InputAnswered];
const RECORDS: [RecordFact; 10] = [
    RecordFact::None,
    RecordFact::Result,
    RecordFact::Running,
    RecordFact::InputRequired,
    RecordFact::ApprovalRequired,
    RecordFact::Approved,
    RecordFact::Denied { prevails: false },
    RecordFact::Denied { prevails: true },
    RecordFact::Closed,
    RecordFact::Unavailable,
];

/// Calls `check` with every combination of facts.
fn every(check: impl Fn(Facts)) {
    let mut count = 0;
    for verdict in VERDICTS {
        for stage in STAGES {
            for record in RECORDS {
                for bits in 0..128_u8 {
                    let bit = |at: u8| bits & (1 << at) != 0;
                    check(Facts {
                        verdict,
                        stage,
                        record,
                        lacks_key: bit(0),
                        has_key: bit(1),
                        has_ledger: bit(2),
                        can_record: bit(3),
                        has_plan: bit(4),
                        granted: bit(5),
                        policy_failed: verdict == Verdict::Deny && bit(6),
                    });
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 11_520);
}

/// How far a judgment lets a call go: the higher, the more careful.
fn caution(judgment: Judgment) -> u8 {
    match judgment {
        Judgment::Run(_) => 0,
        Judgment::Ask => 1,
        Judgment::Replay | Judgment::Join | Judgment::Input | Judgment::Refuse(_) => 2,
    }
}

#[test]
fn denied_call_never_runs_and_asks_no_reviewer() {
    every(|facts| {
        let judgment = judge(&facts, Expects::Nothing);
        if facts.verdict == Verdict::Deny {
            assert_eq!(caution(judgment), 2, "{facts:?}");
        }
    });
}

#[test]
fn call_that_needs_approval_runs_only_with_a_permission() {
    every(|facts| {
        for expects in [Expects::Nothing, Expects::Approval] {
            let Judgment::Run(permission) = judge(&facts, expects) else { continue };
            match permission {
                Permission::Policy => assert_eq!(facts.verdict, Verdict::Allow, "{facts:?}"),
                Permission::Grant => assert!(facts.granted, "{facts:?}"),
                Permission::Approval => {
                    assert_eq!(facts.record, RecordFact::Approved, "{facts:?}");
                }
                Permission::EarlierRequest => {
                    assert_eq!(facts.stage, CallStage::InputAnswered, "{facts:?}");
                }
            }
        }
    });
}

#[test]
fn stricter_verdict_never_lets_a_call_go_further() {
    every(|facts| {
        let with = |verdict| caution(judge(&Facts { verdict, ..facts }, Expects::Nothing));
        let (allow, ask, deny) = (with(Verdict::Allow), with(Verdict::Ask), with(Verdict::Deny));
        // A reviewer or an operator decided about this call, or the ledger has more to check.
        assert!(allow <= ask || facts.granted || !facts.can_record, "{facts:?}");
        assert!(ask <= deny, "{facts:?}");
    });
}

#[test]
fn expectation_only_makes_a_decision_stricter() {
    every(|facts| {
        let plain = judge(&facts, Expects::Nothing);
        let expecting = judge(&facts, Expects::Approval);
        let is_refused = expecting == Judgment::Refuse(RefusalReason::DecisionChanged);
        let is_reviewed = matches!(expecting, Judgment::Ask | Judgment::Run(Permission::Approval));
        assert!(expecting == plain || is_refused || is_reviewed, "{facts:?}");
        assert!(
            !matches!(expecting, Judgment::Run(Permission::Policy | Permission::Grant)),
            "{facts:?}"
        );
        assert!(
            caution(plain) <= caution(expecting)
                || plain == Judgment::Run(Permission::Grant)
                || plain == Judgment::Refuse(RefusalReason::LedgerUnavailable),
            "{facts:?}"
        );
    });
}

#[test]
fn record_answers_before_the_policy() {
    every(|facts| {
        if facts.lacks_key
            || facts.stage != CallStage::First
            || (facts.has_key && !facts.has_ledger)
        {
            return;
        }
        let expected = match facts.record {
            RecordFact::Result => Judgment::Replay,
            RecordFact::Running => Judgment::Join,
            RecordFact::InputRequired => Judgment::Input,
            RecordFact::Closed => Judgment::Refuse(RefusalReason::Record),
            RecordFact::Unavailable => Judgment::Refuse(RefusalReason::LedgerUnavailable),
            _ => return,
        };
        for expects in [Expects::Nothing, Expects::Approval] {
            assert_eq!(judge(&facts, expects), expected, "{facts:?}");
        }
    });
}

#[test]
fn call_without_its_plan_key_or_ledger_does_not_start() {
    every(|facts| {
        let judgment = judge(&facts, Expects::Nothing);
        let starts = matches!(judgment, Judgment::Run(_) | Judgment::Ask);
        let lacks_ledger = !facts.has_ledger && (facts.has_key || judgment == Judgment::Ask);
        if facts.lacks_key || !facts.has_plan || lacks_ledger {
            assert!(!starts, "{facts:?}: {judgment:?}");
        }
        if !facts.can_record {
            let by_policy = Judgment::Run(Permission::Policy);
            assert!(judgment != by_policy && judgment != Judgment::Run(Permission::Grant));
        }
    });
}

#[test]
fn denial_holds_unless_a_newer_grant_covers_a_call_without_key() {
    for has_key in BOTH {
        for prevails in BOTH {
            let facts = Facts {
                policy_failed: false,
                verdict: Verdict::Ask,
                lacks_key: false,
                has_key,
                has_ledger: true,
                can_record: true,
                record: RecordFact::Denied { prevails },
                has_plan: true,
                granted: true,
                stage: CallStage::First,
            };
            let expected = match has_key || prevails {
                true => Judgment::Refuse(RefusalReason::Record),
                false => Judgment::Run(Permission::Grant),
            };
            assert_eq!(judge(&facts, Expects::Nothing), expected);
        }
    }
}
