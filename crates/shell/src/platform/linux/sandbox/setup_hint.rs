//! The command that makes bubblewrap work, for the usual reasons why it does not.

use std::fs;

use super::bubblewrap;

/// Returns what to do so that a sandbox can be built.
pub(super) fn command() -> &'static str {
    let setting = |name: &str| fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default();
    for_system(bubblewrap::program().is_some(), setting)
}

/// Distributions keep ordinary users from making namespaces in three ways.
fn for_system(installed: bool, setting: impl Fn(&str) -> String) -> &'static str {
    let is = |name: &str, value: &str| setting(name).trim() == value;
    if !installed {
        "install bubblewrap, for example with `sudo apt install bubblewrap`"
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "let programs make namespaces with `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if is("kernel/unprivileged_userns_clone", "0") {
        "let programs make namespaces with `sudo sysctl -w kernel.unprivileged_userns_clone=1`"
    } else if is("user/max_user_namespaces", "0") {
        "let programs make namespaces with `sudo sysctl -w user.max_user_namespaces=15000`"
    } else {
        "see what bubblewrap complains about with `tollgate doctor`"
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::for_system;

    #[test]
    fn each_usual_reason_has_its_command() {
        let with = |name: &'static str, value: &'static str| {
            for_system(true, move |asked| if asked == name { format!("{value}\n") } else { String::new() })
        };
        let output = [
            for_system(false, |_| String::new()),
            with("kernel/apparmor_restrict_unprivileged_userns", "1"),
            with("kernel/unprivileged_userns_clone", "0"),
            with("user/max_user_namespaces", "0"),
            with("kernel/unprivileged_userns_clone", "1"),
        ];
        expect![[r#"
            install bubblewrap, for example with `sudo apt install bubblewrap`
            let programs make namespaces with `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`
            let programs make namespaces with `sudo sysctl -w kernel.unprivileged_userns_clone=1`
            let programs make namespaces with `sudo sysctl -w user.max_user_namespaces=15000`
            see what bubblewrap complains about with `tollgate doctor`"#]]
        .assert_eq(&output.join("\n"));
    }
}
