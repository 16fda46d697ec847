package agent

import (
	"os"
	"path/filepath"
	"runtime"
)

// DefaultHome is the folder in which the daemon of this user keeps its home: the first of the usual places that holds
// a configuration, or else the first of them.
func DefaultHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	usual := usualHomes(runtime.GOOS, user, os.Getenv)
	for _, home := range usual {
		if _, err := os.Stat(filepath.Join(home, configFile)); err == nil {
			return home
		}
	}
	return usual[0]
}

// usualHomes are the places of a daemon's home (Syncthing's documentation, "config"). Since 1.27 it is below
// XDG_STATE_HOME, before below XDG_CONFIG_HOME; both are used while they hold a configuration.
func usualHomes(system, user string, variable func(string) string) []string {
	or := func(name, otherwise string) string {
		if value := variable(name); value != "" {
			return value
		}
		return filepath.Join(user, otherwise)
	}
	var homes []string
	for _, name := range []string{"STHOMEDIR", "STCONFDIR"} {
		if value := variable(name); value != "" {
			homes = append(homes, value)
		}
	}
	switch system {
	case "windows":
		return append(homes, filepath.Join(or("LOCALAPPDATA", "AppData/Local"), "Syncthing"))
	case "darwin":
		homes = append(homes, filepath.Join(user, "Library/Application Support/Syncthing"))
	}
	return append(homes,
		filepath.Join(or("XDG_STATE_HOME", ".local/state"), "syncthing"),
		filepath.Join(or("XDG_CONFIG_HOME", ".config"), "syncthing"))
}
