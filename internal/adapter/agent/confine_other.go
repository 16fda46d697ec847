//go:build !linux

package agent

// Confine does nothing: only Linux has Landlock.
func (a *Agent) Confine(string) error { return nil }
