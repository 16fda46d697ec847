package form

import (
	"math/big"
	"regexp"
	"strings"

	"muster/internal/fleet"
)

// bytesPer has the units of a rate, in bytes each second.
var bytesPer = map[string]*big.Rat{
	"B/s": big.NewRat(1, 1), "kB/s": big.NewRat(1000, 1), "KB/s": big.NewRat(1000, 1), "MB/s": big.NewRat(1000*1000, 1),
	"GB/s": big.NewRat(1000*1000*1000, 1), "KiB/s": big.NewRat(1<<10, 1), "MiB/s": big.NewRat(1<<20, 1),
	"GiB/s": big.NewRat(1<<30, 1), "kbit/s": big.NewRat(1000, 8), "Kbit/s": big.NewRat(1000, 8),
	"Mbit/s": big.NewRat(1000*1000, 8), "Gbit/s": big.NewRat(1000*1000*1000, 8),
}

var rateText = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,6})?) ?([A-Za-z]+/s)$`)

// noLimit is what a person writes for a rate without a limit, which daemons write as 0.
const noLimit = "no limit"

// maxRate is the largest rate in KiB/s: daemons on 32-bit systems count no further.
const maxRate = 1<<31 - 1

// kibPerSecond reads a rate such as "2 MB/s" or "16 Mbit/s" as KiB/s, which daemons count in, rounded down.
func kibPerSecond(field, typed string) (int64, error) {
	if typed == noLimit {
		return 0, nil
	}
	const how = "write a number and its unit, as in 2 MB/s, 16 Mbit/s or 500 KiB/s, or no limit"
	if strings.Contains(typed, ",") {
		return 0, fleet.Invalidf(field, "%q has a comma: write a dot before decimals, as in 2.5 MB/s", typed)
	}
	parts := rateText.FindStringSubmatch(typed)
	if parts == nil {
		return 0, fleet.Invalidf(field, "%q is no rate: %s", typed, how)
	}
	unit, known := bytesPer[parts[2]]
	if !known {
		return 0, fleet.Invalidf(field, "%q is no unit of a rate: write MB/s or KiB/s for bytes, Mbit/s for bits", parts[2])
	}
	rate, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return 0, fleet.Invalidf(field, "%q is no rate: %s", typed, how)
	}
	rate.Mul(rate, unit).Quo(rate, big.NewRat(1<<10, 1))
	whole := new(big.Int).Quo(rate.Num(), rate.Denom())
	switch {
	case whole.Sign() == 0:
		return 0, fleet.Invalidf(field, "%q is less than 1 KiB/s, and daemons count no smaller rates", typed)
	case !whole.IsInt64() || whole.Int64() > maxRate:
		return 0, fleet.Invalidf(field, "%q is more than daemons can count: write no limit", typed)
	}
	return whole.Int64(), nil
}
