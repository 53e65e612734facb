//! Options with which an ordinary program starts other programs, or reaches further than its name says.
//!
//! One list a program, after what its manual says. A program that is not here has none that we know of.

use super::options::is_option;
use super::program::family;

struct Program {
    names: &'static [&'static str],
    /// Have it start another program, or code that comes with the call.
    runs: &'static [&'static str],
    /// Have it write, delete or read where nobody expects it to.
    reaches: &'static [&'static str],
}

const fn program(
    names: &'static [&'static str],
    runs: &'static [&'static str],
    reaches: &'static [&'static str],
) -> Program {
    Program { names, runs, reaches }
}

const PROGRAMS: [Program; 28] = [
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
    program(
        &["vim", "vi", "nvim", "ex", "view", "vimdiff", "gvim"],
        &["+", "-c", "-S", "-s", "-u", "--cmd", "-es", "-Es"],
        &[],
    ),
    program(
        &["emacs"],
        &["--eval", "--execute", "--load", "--funcall", "--script", "--batch", "-l", "-f"],
        &[],
    ),
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
        &["-o", "-O", "--output", "--remote-name", "--output-dir", "-T", "--upload-file"],
    ),
    program(
        &["make", "gmake"],
        &["--eval", "-E", "SHELL=", ".SHELLFLAGS=", "MAKEFLAGS="],
        &["-f", "--file", "--makefile", "-C", "--directory"],
    ),
    program(&["cargo"], &["--config"], &["--manifest-path", "-C"]),
    program(&["go"], &["-exec", "-toolexec", "-vettool"], &[]),
    program(&["npm", "npx", "pnpm", "yarn"], &["-c", "--call", "--script-shell", "--node-options"], &[]),
    program(&["hg"], &["--config", "--config-file"], &[]),
    program(&["svn"], &["--config-option", "--config-dir", "--diff-cmd", "--diff3-cmd", "--editor-cmd"], &[]),
    program(&["tcpdump"], &["-z"], &["-w"]),
    program(&["nmap"], &["--script", "--interactive"], &[]),
    program(
        &["pandoc"],
        &["-F", "--filter", "-L", "--lua-filter", "--pdf-engine", "-d", "--defaults"],
        &["--extract-media"],
    ),
    program(
        &["tex", "latex", "pdflatex", "xelatex", "lualatex", "latexmk"],
        &["-shell-escape", "-enable-write18", "=-e", "-latexoption"],
        &[],
    ),
    program(&["gcc", "g++", "cc", "c++", "clang", "clang++"], &["-wrapper", "-fplugin", "=-B"], &[]),
    program(&["sqlite"], &["-cmd", "-init", ".shell", ".system", ".load", ".read"], &[]),
];

fn of(argv: &[String]) -> Option<(&Program, &[String])> {
    let (name, words) = argv.split_first()?;
    let family = family(name);
    Some((PROGRAMS.iter().find(|program| program.names.contains(&family.as_str()))?, words))
}

/// The word that has the program start something else.
pub(super) fn runs_another(argv: &[String]) -> Option<&str> {
    let (program, words) = of(argv)?;
    first_of(program, words, program.runs)
}

/// The word that has the program reach further than its name says.
pub(super) fn reaches_further(argv: &[String]) -> Option<&str> {
    let (program, words) = of(argv)?;
    first_of(program, words, program.reaches)
}

fn first_of<'a>(program: &Program, words: &'a [String], options: &[&str]) -> Option<&'a str> {
    // The first word of tar is a bundle of letters even without a dash.
    let bundle = words.first().filter(|word| program.names.contains(&"tar") && !word.starts_with('-'));
    let is_one = |word: &str| options.iter().any(|option| is_option(word, option));
    if let Some(bundle) = bundle.filter(|bundle| is_one(&format!("-{bundle}"))) {
        return Some(bundle);
    }
    words.iter().find(|word| is_one(word)).map(String::as_str)
}
