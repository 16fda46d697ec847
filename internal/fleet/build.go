package fleet

// MusterVersion is the version of this program.
const MusterVersion = "0.1.0"

// Build describes how this program was built.
type Build struct {
	Version string
	Commit  string // short hash, with -dirty when files had been changed; "" when unknown
}

func (b Build) String() string {
	if b.Commit == "" {
		return b.Version
	}
	return b.Version + " (commit " + b.Commit + ")"
}
