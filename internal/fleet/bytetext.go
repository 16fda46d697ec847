package fleet

import (
	"fmt"
	"math"
)

// ByteText returns a number of bytes in the form that people read: "1.5 GiB".
func ByteText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", max(n, 0))
	}
	exponent := min(int(math.Log2(float64(n))/10), 6)
	return fmt.Sprintf("%.1f %ciB", float64(n)/math.Pow(1024, float64(exponent)), "KMGTPE"[exponent-1])
}
