//go:build !unix

package budget

import "runtime"

// OfThisProcess divides the largest limit that Muster can use, because this system has no limit of open files.
func OfThisProcess() (Descriptors, error) { return Share(mostLimit, runtime.NumCPU()) }
