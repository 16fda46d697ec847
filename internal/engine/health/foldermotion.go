package health

import (
	"time"

	"muster/internal/fleet"
)

// motion records how the missing bytes of a folder decrease.
type motion struct {
	at          time.Time // time of the last change
	needBytes   int64
	needItems   int64
	sequence    int64
	first, next sample // first is 15 to 30 s older than the newest figures while bytes come
}

type sample struct {
	at        time.Time
	needBytes int64
}

// move records a change of what is missing.
func (r *folderRecord) move(s *fleet.Snapshot, now time.Time) {
	summary, known := s.Summaries[r.folder]
	if !known || !s.IsCurrent(r.folder) || !summary.Lacks() {
		r.setDetails(nil, r.besides())
		return
	}
	items := summary.NeedFiles + summary.NeedDirectories + summary.NeedSymlinks + summary.NeedDeletes
	m := r.motion()
	if m == nil {
		r.setDetails(&motion{at: now, needBytes: summary.NeedBytes, needItems: items, sequence: summary.Sequence,
			first: sample{now, summary.NeedBytes}, next: sample{now, summary.NeedBytes}}, r.besides())
		return
	}
	if m.needBytes != summary.NeedBytes || m.needItems != items || m.sequence != summary.Sequence {
		m.at, m.needBytes, m.needItems, m.sequence = now, summary.NeedBytes, items, summary.Sequence
	}
	if now.Sub(m.next.at) >= rateWindow/2 {
		m.first, m.next = m.next, sample{now, summary.NeedBytes}
	}
}

// rateWindow is the time over which a rate is measured.
const rateWindow = 30 * time.Second

// rate returns the bytes per second that have arrived recently, 0 when none did. steady is the rate in the slower half
// of that time, or 0 when the halves differ too much for a forecast.
func (m *motion) rate(now time.Time) (rate, steady float64) {
	if m == nil || now.Sub(m.at) > rateWindow {
		return 0, 0
	}
	rate = m.first.to(sample{m.at, m.needBytes})
	earlier, later := m.first.to(m.next), m.next.to(sample{m.at, m.needBytes})
	const most = 3 // the halves may differ by
	if earlier <= 0 || later <= 0 || max(earlier, later) > most*min(earlier, later) {
		return rate, 0
	}
	return rate, min(earlier, later)
}

// to returns the bytes per second that arrived between two samples.
func (s sample) to(other sample) float64 {
	if took := other.at.Sub(s.at).Seconds(); took >= 1 {
		return max(0, float64(s.needBytes)-float64(other.needBytes)) / took
	}
	return 0
}

// doneBetween returns the range in which the transfer probably ends. The range is longer towards the end, because
// small files come last and take longer than their bytes suggest.
func (m *motion) doneBetween(now time.Time) (from, to time.Time) {
	rate, steady := m.rate(now)
	if steady <= 0 {
		return from, to
	}
	const late, farthest = 1.5, 365 * 24 * time.Hour
	soonest := seconds(float64(m.needBytes) / max(rate, steady))
	latest := seconds(float64(m.needBytes) / steady * late)
	if latest > farthest {
		return from, to
	}
	return m.at.Add(soonest), m.at.Add(latest)
}

func seconds(n float64) time.Duration {
	return time.Duration(min(n, float64(1<<62)/float64(time.Second)) * float64(time.Second))
}
