//! MCP clients of both eras that ask before they act.
