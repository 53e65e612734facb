//! Options with which an ordinary program starts other programs, or accesses more than its name says.
//!
//! One entry for each program, from its manual. A program without an entry has no such options that we know of.

use super::option_table::is_option;
use super::program_name::program_family;
use super::shell_parser::is_assignment;

struct ProgramOptions {
    names: &'static [&'static str],
    /// Options that start another program, or run code from the call.
    run_options: &'static [&'static str],
    /// Options that write, delete or read in unexpected places.
    reach_options: &'static [&'static str],
}

const fn program(
    names: &'static [&'static str],
    run_options: &'static [&'static str],
    reach_options: &'static [&'static str],
) -> ProgramOptions {
    ProgramOptions { names, run_options, reach_options }
}

const PROGRAMS: [ProgramOptions; 34] = [
    program(
        &["find", "gfind"],
        &["-exec", "-execdir", "-ok", "-okdir"],
        &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"],
    ),
    program(&["fd", "fdfind"], &["-x", "-X", "--exec", "--exec-batch"], &[]),
    program(
        &["tar", "gtar", "bsdtar"],
        &[
            "-I",
            "-F",
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "--info-script",
            "--new-volume-script",
            "--rsh-command",
            "--rmt-command",
        ],
        &["-P", "--absolute-names"],
    ),
    program(&["cpio"], &["--rsh-command", "--rmt-command"], &["--absolute-filenames"]),
    program(&["zip"], &["-T", "-TT", "--unzip-command"], &["-m", "--move"]),
    program(&["rg"], &["--pre", "--hostname-bin"], &["-z", "--search-zip"]),
    program(&["sort"], &["--compress-program"], &["-o", "--output"]),
    program(&["split"], &["--filter"], &[]),
    program(&["man"], &["-P", "-H", "--pager", "--html"], &[]),
    program(&["less", "more"], &["+"], &["-o", "-O", "-k", "--log-file", "--lesskey-file"]),
    program(&["scp", "sftp"], &["-S", "-o", "-F", "-D", "-b"], &[]),
    program(&["rsync"], &["-e", "--rsh", "--rsync-path"], &["--remove-source-files", "--delete"]),
    program(
        &["wget"],
        &["--use-askpass", "-e", "--execute"],
        &["-O", "--output-document", "--post-file", "-i"],
    ),
    program(
        &["curl"],
        &["-K", "--config"],
        &[
            "-o",
            "-O",
            "-J",
            "-c",
            "-D",
            "-T",
            "--output",
            "--remote-name",
            "--remote-name-all",
            "--output-dir",
            "--upload-file",
            "--cookie-jar",
            "--dump-header",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--hsts",
            "--alt-svc",
            "--libcurl",
        ],
    ),
    program(
        &["make", "gmake"],
        &["--eval", "-E", VARIABLE, ".SHELLFLAGS="],
        &["-f", "-I", "-C", "-o", "-W", "--file", "--makefile", "--include-dir", "--directory"],
    ),
    program(&["cargo"], &["--config"], &["--manifest-path", "-C"]),
    program(&["go"], &["-exec", "-toolexec", "-vettool"], &[]),
    program(
        &["npm", "npx", "pnpm", "yarn"],
        &["-c", "--call", "--script-shell", "--node-options", "--prefix", "--cwd", "--dir", "--userconfig"],
        &["-C", "--workspace", "-w"],
    ),
    program(&["hg"], &["--config", "--config-file"], &[]),
    program(&["svn"], &["--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"], &[]),
    program(&["tcpdump"], &["-z"], &["-w"]),
    program(&["nmap"], &["--script", "--interactive"], &[]),
    program(
        &["pandoc"],
        &["-F", "--filter", "-L", "--lua-filter", "--pdf-engine", "--pdf-engine-opt", "-d", "--defaults"],
        &["-o", "--output", "--extract-media", "--log", "--data-dir"],
    ),
    program(
        &["tex", "latex", "pdflatex", "xelatex", "lualatex", "latexmk"],
        &["-shell-escape", "-enable-write18", "=-e", "-latexoption"],
        &[],
    ),
    program(
        &["gcc", "g++", "cc", "c++", "clang", "clang++"],
        &["-wrapper", "-fplugin", "-specs", "@", "=-B"],
        &["=-o"],
    ),
    program(
        &["pytest", "py.test"],
        &["-p", "-c", "--rootdir", "--confcutdir", "--override-ini", "-o", "--pdbcls", "--import-mode"],
        &["--basetemp", "--junitxml", "--junit-xml", "--log-file"],
    ),
    program(&["rpm", "rpmbuild"], &["-E", "-D", "--eval", "--define", "--pipe"], &[]),
    program(&["shuf"], &[], &["-o", "--output"]),
    program(&["tree"], &[], &["-o", "-R", "--fromfile"]),
    program(&["nc", "ncat", "netcat"], &["-e", "-c", "--exec", "--sh-exec", "--lua-exec"], &[]),
    program(&["openssl"], &["-engine", "-provider", "-provider-path"], &["-out"]),
    program(&["jq"], &[], &["-f", "-L", "--from-file", "--library-path"]),
    program(&["gpg"], &["--exec-path", "--photo-viewer", "--agent-program"], &["-o", "--output"]),
    program(&["dpkg", "apt", "apt-get"], &["-o", "-c", "--option", "--pre-invoke", "--post-invoke"], &[]),
];

/// Any assignment: `make` runs the values of variables.
const VARIABLE: &str = "NAME=";

fn of(argv: &[String]) -> Option<(&ProgramOptions, &[String])> {
    let (name, words) = argv.split_first()?;
    let family = program_family(name);
    Some((PROGRAMS.iter().find(|program| program.names.contains(&family.as_str()))?, words))
}

/// Returns the word that starts another program.
pub(super) fn runs_another(argv: &[String]) -> Option<&str> {
    let (program, words) = of(argv)?;
    first_of(program, words, program.run_options)
}

/// Returns the word that lets the program access more than its name says.
pub(super) fn reaches_further(argv: &[String]) -> Option<&str> {
    let (program, words) = of(argv)?;
    first_of(program, words, program.reach_options)
}

fn first_of<'a>(program: &ProgramOptions, words: &'a [String], options: &[&str]) -> Option<&'a str> {
    // The first word of `tar` is a bundle of options even without a dash.
    let bundle = words.first().filter(|word| program.names.contains(&"tar") && !word.starts_with('-'));
    let is_one = |word: &str| {
        options.iter().any(|option| match *option {
            VARIABLE => is_assignment(&word.replace([':', '?', '!'], "")),
            option => is_option(word, option),
        })
    };
    if let Some(bundle) = bundle.filter(|bundle| is_one(&format!("-{bundle}"))) {
        return Some(bundle);
    }
    words.iter().find(|word| is_one(word)).map(String::as_str)
}
