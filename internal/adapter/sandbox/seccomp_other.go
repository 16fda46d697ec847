//go:build linux && !amd64 && !arm64

package sandbox

import (
	"fmt"
	"runtime"
)

func filterSystemCalls() error {
	return fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
}
