//! Who is charged: services by name, each with an account.

use super::account::Account;
use super::settings::{MemorySettings, OnFull};
use dashmap::DashMap;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Names that get an account of their own; a sender that makes up names cannot grow memory or metrics past it.
const NAMES_MAX: usize = 1000;
/// Longest name, in bytes. OpenTelemetry sets no limit; this is several times any name seen.
pub(crate) const SERVICE_NAME_MAX: usize = 256;
/// The account that all names beyond the thousandth share.
pub(crate) const OTHER_SERVICES: &str = "other";

/// A service, as a dense index: 0 is the account that all names beyond the thousandth share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u32);

/// All services seen, and those that the config names.
#[derive(Debug)]
pub struct Services {
    ids: DashMap<Arc<str>, ServiceId>,
    accounts: RwLock<Accounts>,
    caps: HashMap<String, u64>,
    default_cap: u64,
    on_full: HashMap<String, OnFull>,
    default_on_full: OnFull,
}

#[derive(Debug)]
struct Accounts {
    list: Vec<Arc<Account>>,
    /// Of them, `other` and those that the config names.
    reserved: usize,
}

impl Services {
    /// With the caps of `memory`. What it names has an account from the start, whoever else comes.
    #[must_use]
    pub fn new(memory: &MemorySettings) -> Self {
        let services = Self {
            ids: DashMap::new(),
            accounts: RwLock::new(Accounts {
                list: Vec::new(),
                reserved: 0,
            }),
            caps: memory.per_service.iter().cloned().collect(),
            default_cap: memory.per_service_default,
            on_full: memory.on_full_of.iter().cloned().collect(),
            default_on_full: memory.on_full,
        };
        services.reserve(OTHER_SERVICES);
        let caps = memory.per_service.iter().map(|(name, _)| name);
        let named = caps.chain(memory.on_full_of.iter().map(|(name, _)| name));
        for name in named {
            services.reserve(name);
        }
        services
    }

    /// Whether any service has its traces decided early at its cap.
    pub(crate) fn decide_early(&self) -> bool {
        let mut all = self.on_full.values().chain([&self.default_on_full]);
        all.any(|on_full| *on_full == OnFull::DecideEarly)
    }

    /// The id of `service.name`. At most a thousand names that the config does not know get one of their own.
    #[must_use]
    pub fn intern(&self, name: &str) -> ServiceId {
        let name = cut(name);
        match self.ids.get(name) {
            Some(id) => *id,
            None => self.add(name, false),
        }
    }

    /// The id of a name that the config knows.
    pub(crate) fn reserve(&self, name: &str) -> ServiceId {
        self.add(cut(name), true)
    }

    fn add(&self, name: &str, reserved: bool) -> ServiceId {
        let mut accounts = self.accounts.write();
        // Another thread may have been faster.
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let has_room = reserved || accounts.list.len() - accounts.reserved < NAMES_MAX;
        let Some(id) = u32::try_from(accounts.list.len()).ok().filter(|_| has_room) else {
            return ServiceId(0);
        };
        let cap = self.caps.get(name).copied().unwrap_or(self.default_cap);
        let on_full = self.on_full.get(name).copied();
        let on_full = on_full.unwrap_or(self.default_on_full);
        let account = Arc::new(Account::new(ServiceId(id), name, cap, on_full));
        self.ids.insert(Arc::clone(&account.name), account.id);
        accounts.list.push(account);
        accounts.reserved += usize::from(reserved);
        ServiceId(id)
    }

    /// Its account; that of `other` for an id that was never given.
    #[must_use]
    pub fn account(&self, id: ServiceId) -> Arc<Account> {
        let accounts = &self.accounts.read().list;
        let found = accounts.get(id.0 as usize).or(accounts.first());
        Arc::clone(found.expect("invariant: `other` is there from the start"))
    }

    /// Its name.
    #[must_use]
    pub fn name(&self, id: ServiceId) -> Arc<str> {
        Arc::clone(&self.account(id).name)
    }

    /// Every account, `other` first.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Account>> {
        self.accounts.read().list.clone()
    }
}

fn cut(name: &str) -> &str {
    name.get(..name.floor_char_boundary(SERVICE_NAME_MAX))
        .unwrap_or(name)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    /// Caps: 1000 bytes, `big` 5000.
    pub(crate) fn memory(on_full: OnFull) -> MemorySettings {
        let per_service = vec![("big".to_owned(), 5000)];
        MemorySettings {
            total: 1 << 20,
            per_service_default: 1000,
            per_service,
            on_full,
            on_full_of: vec![],
        }
    }

    #[test]
    fn names_get_one_account_each_up_to_a_thousand() {
        let services = Services::new(&memory(OnFull::Spill));
        let big = services.intern("big");
        assert_eq!(
            (big, services.intern("big"), services.account(big).cap),
            (ServiceId(1), big, 5000)
        );
        for n in 0..2000 {
            let id = services.intern(&format!("s{n}"));
            assert_eq!(id.0, if n < 1000 { n + 2 } else { 0 }, "name {n}");
        }
        assert_eq!(services.all().len(), 1002);
        assert_eq!(&*services.name(services.intern("s1999")), "other");
        assert_eq!(services.intern("other"), ServiceId(0));
    }

    #[test]
    fn a_flood_of_names_grows_nothing_and_takes_no_account_from_the_config() {
        let mut memory = memory(OnFull::Spill);
        let named = |name: &str| (name.to_owned(), OnFull::Refuse);
        memory.on_full_of = vec![named("careful"), named("other")];
        let services = Services::new(&memory);
        for n in 0..100_000 {
            _ = services.intern(&format!("made-up-{n}"));
        }
        assert_eq!(services.all().len(), 3 + NAMES_MAX);
        assert_eq!(services.ids.len(), 3 + NAMES_MAX);
        let check = |name: &str, own: bool, cap, on_full| {
            let account = services.account(services.intern(name));
            assert_eq!(*account.name == *name, own, "{name}");
            assert_eq!((account.cap, account.on_full), (cap, on_full), "{name}");
        };
        check("big", true, 5000, OnFull::Spill);
        check("careful", true, 1000, OnFull::Refuse);
        check("other", true, 1000, OnFull::Refuse);
        check("made-up-7", true, 1000, OnFull::Spill);
        check("made-up-99999", false, 1000, OnFull::Refuse);
        check("a-late-one", false, 1000, OnFull::Refuse);
        assert_eq!(services.reserve("a-late-one").0 as usize, 3 + NAMES_MAX);
        assert!(!services.decide_early());
    }

    #[test]
    fn long_names_are_cut_between_characters() {
        let services = Services::new(&memory(OnFull::Spill));
        let id = services.intern(&format!("a{}", "é".repeat(200)));
        assert_eq!(services.name(id).len(), 255);
        assert_eq!(services.intern(&format!("a{}", "é".repeat(127))), id);
    }

    #[test]
    fn full_is_a_sixteenth_under_the_cap_and_leaves_decided_payload_out() {
        let services = Services::new(&memory(OnFull::Spill));
        let account = services.account(services.intern("a"));
        account.cache.store(1000, Ordering::Relaxed);
        account.undecided.store(900, Ordering::Relaxed);
        assert!(!account.is_full());
        account.skeletons.store(38, Ordering::Relaxed);
        assert!(account.is_full());
        assert_eq!(account.held(), 938);
    }
}
