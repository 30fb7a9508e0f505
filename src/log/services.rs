//! Who is charged: services by name, each with an account.

use super::account::Account;
use super::settings::MemorySettings;
use dashmap::DashMap;
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

/// Names that get an account of their own; a sender that makes up names cannot grow memory or metrics past it.
const NAMES_MAX: usize = 1000;
/// Longest name, in bytes. OpenTelemetry sets no limit; this is several times any name seen.
const NAME_MAX: usize = 256;
const OTHER: &str = "other";

/// A service, as a dense index: 0 is the account that all names beyond the thousandth share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(pub u32);

/// All services seen.
#[derive(Debug)]
pub struct Services {
    ids: DashMap<Arc<str>, ServiceId>,
    accounts: RwLock<Vec<Arc<Account>>>,
    caps: HashMap<String, u64>,
    default_cap: u64,
}

impl Services {
    /// With the caps of `memory`.
    #[must_use]
    pub fn new(memory: &MemorySettings) -> Self {
        let caps: HashMap<_, _> = memory.per_service.iter().cloned().collect();
        let default_cap = memory.per_service_default;
        let cap = caps.get(OTHER).copied().unwrap_or(default_cap);
        let other = Arc::new(Account::new(ServiceId(0), OTHER, cap));
        let ids = DashMap::from_iter([(Arc::clone(&other.name), other.id)]);
        Self {
            ids,
            accounts: RwLock::new(vec![other]),
            caps,
            default_cap,
        }
    }

    /// The id of `service.name`. At most a thousand names get one of their own.
    #[must_use]
    pub fn intern(&self, name: &str) -> ServiceId {
        let name = name
            .get(..name.floor_char_boundary(NAME_MAX))
            .unwrap_or(name);
        match self.ids.get(name) {
            Some(id) => *id,
            None => self.add(name),
        }
    }

    fn add(&self, name: &str) -> ServiceId {
        let mut accounts = self.accounts.write();
        // Another thread may have been faster.
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let Some(id) = u32::try_from(accounts.len())
            .ok()
            .filter(|_| accounts.len() <= NAMES_MAX)
        else {
            return ServiceId(0);
        };
        let cap = self.caps.get(name).copied().unwrap_or(self.default_cap);
        let account = Arc::new(Account::new(ServiceId(id), name, cap));
        self.ids.insert(Arc::clone(&account.name), account.id);
        accounts.push(account);
        ServiceId(id)
    }

    /// Its account; that of `other` for an id that was never given.
    #[must_use]
    pub fn account(&self, id: ServiceId) -> Arc<Account> {
        let accounts = self.accounts.read();
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
        self.accounts.read().clone()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::log::settings::OnFull;
    use std::sync::atomic::Ordering;

    /// Caps: 1000 bytes, `big` 5000.
    pub(crate) fn memory(on_full: OnFull) -> MemorySettings {
        let per_service = vec![("big".to_owned(), 5000)];
        MemorySettings {
            total: 1 << 20,
            per_service_default: 1000,
            per_service,
            on_full,
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
            assert_eq!(id.0, if n < 999 { n + 2 } else { 0 }, "name {n}");
        }
        assert_eq!(services.all().len(), 1001);
        assert_eq!(&*services.name(services.intern("s1999")), "other");
        assert_eq!(services.intern("other"), ServiceId(0));
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
