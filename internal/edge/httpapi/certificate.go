package httpapi

import (
	"math"
	"time"

	"muster/api"
)

func (s *server) wireCertificate() *api.OverviewOfCertificate {
	if s.Certificate == nil {
		return nil
	}
	served := s.Certificate()
	if served == nil {
		return nil
	}
	return &api.OverviewOfCertificate{
		Fingerprint: served.Fingerprint, ExpiresAt: api.Time{Time: served.NotAfter}, Stale: served.Stale,
		Days: int(math.Floor(time.Until(served.NotAfter).Hours() / 24)),
	}
}
