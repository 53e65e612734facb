//! Programs that read files or a pipe and print what they find.

use super::{HarmlessArguments, OperandKind, program};

/// Deliberately omitted: `sort -o` and the second file of `uniq` are written, `sort -T` writes into a folder,
/// `--compress-program` starts a program, `tail -f` never ends, `--files0-from` names files that are not in the
/// line, `diff -l` starts `pr`, `file -C` writes, `file -z` starts a program, `file -p` sets times, `tree -o` writes.
pub(super) const PROGRAMS: [HarmlessArguments; 25] = [
    program(&["ls", "dir", "vdir"], OperandKind::Files, "aAbBcCdfFgGhHikLlmnNopqQrRsStuUvxXZ1", "ITw").long(
        "all almost-all author classify color directory file-type format full-time group-directories-first \
         human-readable inode no-group numeric-uid-gid recursive reverse si size sort time time-style zero",
        "block-size hide ignore indicator-style quoting-style tabsize width",
    ),
    program(&["tac"], OperandKind::Files, "br", "s").long("before regex", "separator"),
    program(&["cat"], OperandKind::Files, "AbeEnstTuv", "")
        .long("show-all number number-nonblank show-ends squeeze-blank show-tabs show-nonprinting", ""),
    program(&["head", "tail"], OperandKind::Files, "qvz0123456789", "nc")
        .long("quiet silent verbose zero-terminated", "lines bytes"),
    program(&["wc"], OperandKind::Files, "clmLw", "")
        .long("bytes chars lines words max-line-length total", ""),
    program(&["sort"], OperandKind::Files, "bcCdfghiMmnrRsuVz", "kt").long(
        "ignore-leading-blanks check dictionary-order ignore-case general-numeric-sort human-numeric-sort \
         month-sort merge numeric-sort reverse stable unique version-sort zero-terminated sort",
        "key field-separator",
    ),
    program(&["uniq"], OperandKind::OneFile, "cdDiuz", "fsw").long(
        "count repeated all-repeated ignore-case unique zero-terminated group",
        "skip-fields skip-chars check-chars",
    ),
    program(&["cut"], OperandKind::Files, "nsz", "bcdf").long(
        "complement only-delimited zero-terminated",
        "bytes characters delimiter fields output-delimiter",
    ),
    program(&["tr"], OperandKind::Text, "cCdst", "")
        .long("complement delete squeeze-repeats truncate-set1", ""),
    program(&["nl"], OperandKind::Files, "p", "bdfhilnsvw"),
    program(&["fold"], OperandKind::Files, "bs", "w"),
    program(&["expand", "unexpand"], OperandKind::Files, "ai", "t"),
    program(&["rev"], OperandKind::Files, "", ""),
    program(&["paste"], OperandKind::Files, "sz", "d"),
    program(&["comm"], OperandKind::Files, "123z", ""),
    program(&["stat"], OperandKind::Files, "Lft", "c").long("dereference file-system terse", "format printf"),
    program(&["file"], OperandKind::Files, "bhiLkNnr0", "F")
        .long("brief mime mime-type mime-encoding no-dereference raw", "separator"),
    program(&["du"], OperandKind::Files, "0abcDhHklLmPsSx", "dBt").long(
        "all apparent-size bytes total human-readable inodes si summarize time",
        "max-depth block-size threshold exclude",
    ),
    program(&["df"], OperandKind::Files, "ahHiklPTv", "Btx").long(
        "all human-readable si inodes local portability print-type total",
        "block-size type exclude-type",
    ),
    program(&["tree"], OperandKind::Files, "adfilxqNpsughDFrtUcvJXACnS", "LPI").long(
        "dirsfirst noreport prune gitignore du si sort inodes ignore-case",
        "filelimit charset timefmt",
    ),
    program(&["diff"], OperandKind::Files, "abBcdeEinNpqrstTuwyZ", "CUWx").long(
        "brief recursive unified context side-by-side ignore-case ignore-all-space ignore-space-change \
         ignore-blank-lines new-file text color suppress-common-lines report-identical-files \
         strip-trailing-cr minimal",
        "exclude width label ignore-matching-lines",
    ),
    program(&["cmp"], OperandKind::Files, "bls", "in")
        .long("print-bytes verbose quiet silent", "bytes ignore-initial"),
    program(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"],
        OperandKind::Files,
        "btz",
        "",
    )
    .long("binary text tag zero", ""),
    program(&["od"], OperandKind::Files, "bcdosxv", "AjNt")
        .long("", "address-radix read-bytes skip-bytes format"),
    program(&["hexdump"], OperandKind::Files, "bcCdoxv", "ns"),
];
