package httpapi

import (
	"math"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// wireServed is the certificate of the API; nil over plain HTTP.
func wireServed(certificate func() *fleet.Served) *api.OverviewOfCertificate {
	if certificate == nil {
		return nil
	}
	served := certificate()
	if served == nil {
		return nil
	}
	return &api.OverviewOfCertificate{
		Fingerprint: served.Fingerprint, ExpiresAt: api.Time{Time: served.NotAfter}, Stale: served.Stale,
		Days: int(math.Floor(time.Until(served.NotAfter).Hours() / 24)),
	}
}
