//! Finds processes by a unique number.

/// Processes with this number in their arguments or environment, with their command lines.
pub(crate) fn with_number(number: &str) -> Vec<(i32, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let line = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let environment = read("environ");
        let named = environment.windows(number.len()).any(|part| part == number.as_bytes());
        (named || line.contains(number)).then_some((pid, line))
    })
    .collect()
}
