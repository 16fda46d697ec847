package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// DefaultHome is the folder in which the daemon of this user keeps its home: the first of the usual places that holds
// a configuration, or else the first of them.
func DefaultHome() string {
	user, err := os.UserHomeDir()
	if err != nil {
		return "."
	}
	usual := usualHomes(runtime.GOOS, user, os.Getenv)
	if there := withConfiguration(usual); len(there) > 0 {
		return there[0]
	}
	return usual[0]
}

// OtherHomes are the usual places that hold a configuration as well, where a home is the one that was found there.
func OtherHomes(home string) []string {
	user, err := os.UserHomeDir()
	if err != nil || home != DefaultHome() {
		return nil
	}
	return slices.DeleteFunc(withConfiguration(usualHomes(runtime.GOOS, user, os.Getenv)),
		func(other string) bool { return other == home })
}

// searched are the usual places, of which home is the first, where none holds a configuration.
func searched(home string) []string {
	user, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	usual := usualHomes(runtime.GOOS, user, os.Getenv)
	if home != usual[0] || len(withConfiguration(usual)) > 0 {
		return nil
	}
	return usual
}

func withConfiguration(homes []string) []string {
	var there []string
	for _, home := range homes {
		if _, err := os.Stat(filepath.Join(home, configFile)); err == nil && !slices.Contains(there, home) {
			there = append(there, home)
		}
	}
	return there
}

// usualHomes are the places of a daemon's home (Syncthing's documentation, "config"), in the order in which Syncthing
// itself looks: since 1.27 it makes one below XDG_STATE_HOME, unless there is one of before below XDG_CONFIG_HOME.
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
		filepath.Join(or("XDG_CONFIG_HOME", ".config"), "syncthing"),
		filepath.Join(or("XDG_STATE_HOME", ".local/state"), "syncthing"))
}
