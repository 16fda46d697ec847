//go:build !unix

package budget

import "runtime"

// OfThisProcess shares out as many descriptors as are ever needed: this system has no limit of its own.
func OfThisProcess() (Descriptors, error) { return Share(mostLimit, runtime.NumCPU()) }
