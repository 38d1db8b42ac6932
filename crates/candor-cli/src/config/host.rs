//! The hosts, and where each of them stores its servers.

use std::env;

use clap::ValueEnum as _;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Host {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    Vscode,
    Windsurf,
    GeminiCli,
    Codex,
    Json,
}

impl Host {
    /// Returns the name on the command line.
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns the instruction for the snippet.
    pub(super) fn place(self) -> String {
        match self {
            Self::ClaudeDesktop => {
                let file = match env::consts::OS {
                    "macos" => "~/Library/Application Support/Claude/claude_desktop_config.json",
                    "windows" => r"%APPDATA%\Claude\claude_desktop_config.json",
                    _ => "~/.config/Claude/claude_desktop_config.json",
                };
                format!("Add to {file}, then restart Claude Desktop:")
            }
            Self::ClaudeCode => {
                "Run this; --scope user adds it for all folders, --scope project for everyone who shares the folder:".to_owned()
            }
            Self::Cursor => "Add to .cursor/mcp.json of a project, or ~/.cursor/mcp.json for all:".to_owned(),
            Self::Vscode => "Add to .vscode/mcp.json of a project:".to_owned(),
            Self::Windsurf => "Add to ~/.codeium/windsurf/mcp_config.json:".to_owned(),
            Self::GeminiCli => "Add to ~/.gemini/settings.json, or .gemini/settings.json of a project:".to_owned(),
            Self::Codex => "Add to ~/.codex/config.toml:".to_owned(),
            Self::Json => "Add to .mcp.json of a project, or wherever else a host reads mcpServers:".to_owned(),
        }
    }

    /// Returns true if the host's configuration can set a program's working folder.
    pub(super) const fn takes_folder(self) -> bool {
        !matches!(self, Self::ClaudeDesktop | Self::ClaudeCode | Self::Windsurf)
    }

    /// Returns a variable as this host writes it; `None` if the host does not fill in variables.
    pub(super) fn variable(self, name: &str, default: Option<&str>) -> Option<String> {
        match (self, default) {
            (Self::ClaudeCode | Self::Json, Some(default)) => {
                Some(format!("${{{name}:-{default}}}"))
            }
            (Self::ClaudeCode | Self::Json | Self::GeminiCli, _) => Some(format!("${{{name}}}")),
            (Self::Cursor | Self::Vscode | Self::Windsurf, _) => Some(format!("${{env:{name}}}")),
            (Self::ClaudeDesktop | Self::Codex, _) => None,
        }
    }
}
