//! What callers, reviewers, operators and time do in a random case.

use proptest::prelude::{BoxedStrategy, Just, Strategy as _, prop_oneof};

use crate::event::RetryReason;
use crate::record::ApprovalChannel;

#[derive(Debug, Clone)]
pub(super) enum Op {
    Claim {
        actor: usize,
        key: usize,
        args: u8,
        idempotent: bool,
    },
    Start {
        actor: usize,
        key: usize,
        args: u8,
        idempotent: bool,
        approval: Option<u8>,
    },
    Ask {
        key: usize,
        args: u8,
        policy: u8,
        idempotent: bool,
        large: bool,
    },
    /// On the request of this key, on an earlier one, or on one that was never made.
    Decide {
        key: usize,
        older: u64,
        other_policy: bool,
        by: &'static str,
        via: ApprovalChannel,
        approve: bool,
    },
    Dispatch {
        actor: usize,
    },
    Heartbeat {
        actor: usize,
    },
    Release {
        actor: usize,
    },
    Suspend {
        actor: usize,
    },
    Complete {
        actor: usize,
        large: bool,
    },
    Unknown {
        actor: usize,
    },
    Discard {
        actor: usize,
        why: RetryReason,
    },
    /// The answer to the last input request of this key, or to an older one.
    Resume {
        actor: usize,
        key: usize,
        older: u64,
    },
    Crash {
        actor: usize,
    },
    Resolve {
        key: usize,
        how: u8,
    },
    Sweep {
        key: usize,
    },
    Jump {
        millis: i64,
    },
    Restart,
    /// Sends an earlier event once more: a message that arrives twice, or a process that was thought dead.
    Echo {
        which: usize,
    },
}

pub(super) const ACTORS: usize = 4;
pub(super) const KEYS: usize = 4;
/// The calls under this key have no key of their caller.
pub(super) const KEYLESS: usize = 3;

pub(super) fn ops() -> BoxedStrategy<Vec<Op>> {
    let actor = || 0..ACTORS;
    let key = || 0..KEYS;
    let args = || prop_oneof![9 => Just(0_u8), 1 => Just(1_u8)];
    let policy = || prop_oneof![9 => Just(0_u8), 1 => Just(1_u8)];
    let approval = prop_oneof![2 => Just(None), 3 => policy().prop_map(Some)];
    let why = prop_oneof![Just(RetryReason::Idempotent), Just(RetryReason::NothingHappened)];
    // Just before, just after, and far beyond each of the times in the limits.
    let millis = prop_oneof![
        4 => 0_i64..60,
        3 => 99_i64..103,
        2 => 55_i64..65,
        2 => 299_i64..303,
        1 => 999_i64..1_200,
        1 => 5_900_i64..7_000,
        2 => -2_000_i64..0,
    ];
    let op = prop_oneof![
        8 => (actor(), key(), args(), proptest::bool::weighted(0.4))
            .prop_map(|(actor, key, args, idempotent)| Op::Claim { actor, key, args, idempotent }),
        8 => (actor(), key(), args(), proptest::bool::weighted(0.4), approval)
            .prop_map(|(actor, key, args, idempotent, approval)| {
                Op::Start { actor, key, args, idempotent, approval }
            }),
        8 => (key(), args(), policy(), proptest::bool::weighted(0.4), proptest::bool::weighted(0.1))
            .prop_map(|(key, args, policy, idempotent, large)| {
                Op::Ask { key, args, policy, idempotent, large }
            }),
        6 => (
            key(),
            prop_oneof![5 => Just(0_u64), 1 => 1_u64..3],
            proptest::bool::weighted(0.1),
            prop_oneof![Just("olga"), Just("otto")],
            prop_oneof![3 => Just(ApprovalChannel::Operator), 1 => Just(ApprovalChannel::Client)],
            proptest::bool::weighted(0.8),
        )
            .prop_map(|(key, older, other_policy, by, via, approve)| {
                Op::Decide { key, older, other_policy, by, via, approve }
            }),
        8 => actor().prop_map(|actor| Op::Dispatch { actor }),
        2 => actor().prop_map(|actor| Op::Heartbeat { actor }),
        1 => actor().prop_map(|actor| Op::Release { actor }),
        2 => actor().prop_map(|actor| Op::Suspend { actor }),
        4 => (actor(), proptest::bool::weighted(0.2))
            .prop_map(|(actor, large)| Op::Complete { actor, large }),
        1 => actor().prop_map(|actor| Op::Unknown { actor }),
        2 => (actor(), why).prop_map(|(actor, why)| Op::Discard { actor, why }),
        3 => (actor(), key(), prop_oneof![4 => Just(0_u64), 1 => 1_u64..3])
            .prop_map(|(actor, key, older)| Op::Resume { actor, key, older }),
        2 => actor().prop_map(|actor| Op::Crash { actor }),
        2 => (key(), 0_u8..3).prop_map(|(key, how)| Op::Resolve { key, how }),
        1 => key().prop_map(|key| Op::Sweep { key }),
        5 => millis.prop_map(|millis| Op::Jump { millis }),
        1 => Just(Op::Restart),
        3 => (0_usize..64).prop_map(|which| Op::Echo { which }),
    ];
    proptest::collection::vec(op, 1..120).boxed()
}
