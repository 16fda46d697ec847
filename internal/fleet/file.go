package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// File is what a daemon knows of one file, directory or symlink of a folder.
type File struct {
	Global FileVersion // newest version that the daemon knows
	Local  FileVersion // version on the device
	HeldBy []DeviceID  // connected devices that have the newest version
}

// FileVersion is one version of a file, directory or symlink.
type FileVersion struct {
	Known      bool // false: the daemon has no such version
	Deleted    bool
	Ignored    bool // ignored by the device's ignore patterns
	Invalid    bool // the daemon does not offer it to others: ignored, changed in a receive-only folder, or being scanned
	Size       int64
	Modified   time.Time
	ModifiedBy string   // the first characters of a device's ID
	Vector     []string // how often each device has changed the file
}

// Same reports whether two versions are the same.
func (v FileVersion) Same(other FileVersion) bool {
	return v.Known == other.Known && v.Deleted == other.Deleted &&
		strings.Join(v.Vector, " ") == strings.Join(other.Vector,
			" ")
}

// Digest identifies a version without naming the devices that made it; "" when there is no version.
func (v FileVersion) Digest() string {
	if !v.Known {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(v.Vector, " ")))
	return hex.EncodeToString(sum[:6])
}

// LogLine is one line of a daemon's own log.
type LogLine struct {
	At    time.Time
	Level string // "debug", "verbose", "info", "warning", or a word of a later daemon
	Text  string
}
