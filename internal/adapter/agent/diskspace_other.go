//go:build !linux && !darwin && !windows

package agent

import "muster/internal/adapter/tunnel"

// spaceAt returns zero: Muster cannot measure disks on this system.
func spaceAt(string) tunnel.Space { return tunnel.Space{} }
