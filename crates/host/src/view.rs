//! View types by file extension, with the names that the application uses.

use envelope::VaultPath;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewType {
    Markdown,
    Canvas,
    Bases,
    Image,
    Audio,
    Video,
    Pdf,
}

impl ViewType {
    /// Returns the view of a file. `None` if no view can show it.
    pub(crate) fn of(path: &VaultPath) -> Option<ViewType> {
        let extension = path.name().rsplit_once('.')?.1.to_lowercase();
        Some(match extension.as_str() {
            "md" => ViewType::Markdown,
            "canvas" => ViewType::Canvas,
            "base" => ViewType::Bases,
            "avif" | "bmp" | "gif" | "jpeg" | "jpg" | "png" | "svg" | "webp" => ViewType::Image,
            "3gp" | "flac" | "m4a" | "mp3" | "ogg" | "wav" => ViewType::Audio,
            "mkv" | "mov" | "mp4" | "ogv" | "webm" => ViewType::Video,
            "pdf" => ViewType::Pdf,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ViewType::Markdown => "markdown",
            ViewType::Canvas => "canvas",
            ViewType::Bases => "bases",
            ViewType::Image => "image",
            ViewType::Audio => "audio",
            ViewType::Video => "video",
            ViewType::Pdf => "pdf",
        }
    }
}

/// Returns the title of a tab: a note without its extension, any other file with it.
pub(crate) fn title(path: &VaultPath) -> String {
    let name = path.name();
    name.strip_suffix(".md").unwrap_or(name).to_owned()
}
