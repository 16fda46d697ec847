package fleet

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// AuditEnds are the first and the last entry of the stored audit.
type AuditEnds struct {
	FirstID int64  `json:"firstID"` // the oldest stored entry
	Before  string `json:"before"`  // hash of the entry before that one; "" when there was none
	LastID  int64  `json:"lastID"`  // 0: the audit is empty
	// hash of entry LastID, or of the entry before FirstID when the audit is empty
	LastHash string `json:"lastHash"`

	Writes int64 `json:"writes,omitempty"` // how often these ends were written; not each time with another entry

	Rosters map[string]string `json:"rosters"` // digest of the list of rows, for each table whose rows give a role

	Tables map[string]TableMark `json:"tables,omitempty"` // tables of which each row has a mark
}

// TableMark tells which rows a table has. Sum combines what the marks of all rows count. Entry is the ID of the last
// audit entry before the table was changed.
type TableMark struct {
	Rows  int64  `json:"rows"`
	Sum   string `json:"sum"`
	Entry int64  `json:"entry"`
}

// AuditFault is a place where the audit differs from what Muster wrote.
type AuditFault struct {
	ID     int64  // the first entry that was changed or is missing
	Detail string // an explanation for people
}

// AuditReport is the result of verifying the audit and the rows that give a role.
type AuditReport struct {
	Entries         int64
	FirstID, LastID int64
	LastHash        string
	Faults          []AuditFault // ordered by ID
	Rows            []string     // faults outside of the audit, explained for people
}

// AuditCheck verifies the chain of the audit. Its caller adds all entries, oldest first.
type AuditCheck struct {
	ends     AuditEnds
	heads    []AuditHead // ordered by ID
	lastID   int64
	lastHash string
	altered  bool // the last entry was reported as changed
	Entries  int64
	Faults   []AuditFault
	proven   int64 // ID of the last entry that a head confirms
}

// NewAuditCheck makes a check of a chain with these ends and heads. The caller verifies the signatures of the heads.
func NewAuditCheck(ends AuditEnds, heads []AuditHead) *AuditCheck {
	heads = slices.SortedFunc(slices.Values(heads), func(a, b AuditHead) int { return int(a.ID - b.ID) })
	return &AuditCheck{ends: ends, heads: heads, lastID: ends.FirstID - 1, lastHash: ends.Before}
}

func (c *AuditCheck) fault(id int64, format string, args ...any) {
	c.Faults = append(c.Faults, AuditFault{ID: id, Detail: fmt.Sprintf(format, args...)})
}

// Add checks the next entry.
func (c *AuditCheck) Add(e AuditEntry) {
	c.Entries++
	altered := e.Hash != e.Sum()
	follows := e.Previous == c.lastHash
	switch {
	case e.ID > c.lastID+1:
		c.fault(c.lastID+1, "%s missing", entries(c.lastID+1, e.ID-1))
	case !altered && !follows && !c.altered:
		c.fault(max(c.lastID, c.ends.FirstID), "entry %d was rewritten: entry %d does not follow it", c.lastID, e.ID)
	}
	if altered {
		c.fault(e.ID, "entry %d was changed", e.ID)
	}
	if e.What == AuditTampered {
		c.fault(e.ID, "entry %d records that tampering was found: %s", e.ID, e.Detail)
	}
	c.lastID, c.lastHash, c.altered = e.ID, e.Hash, altered
	c.compareHeads(e)
}

func entries(from, to int64) string {
	if from == to {
		return fmt.Sprintf("entry %d is", from)
	}
	return fmt.Sprintf("entries %d to %d are", from, to)
}

// compareHeads compares an entry with the heads that were signed when it was the last entry.
func (c *AuditCheck) compareHeads(e AuditEntry) {
	for len(c.heads) > 0 && c.heads[0].ID <= e.ID {
		head := c.heads[0]
		c.heads = c.heads[1:]
		switch {
		// The head's entry is missing, which Add has reported, or was deleted because of its age.
		case head.ID < e.ID:
		case head.Hash == e.Hash || head.Hash == e.Sum():
			c.proven = e.ID
		case c.altered: // Add has reported the change; the entry's original hash is unknown.
		default:
			c.fault(max(c.proven+1, c.ends.FirstID), "%s not as when the head of %s was signed", entries(max(c.proven+1,
				c.ends.FirstID), head.ID), head.At.UTC().Format(time.RFC3339))
		}
	}
}

// EndAt does what End does for a chain whose last entry is known. The heads may show a later entry.
func (c *AuditCheck) EndAt(lastID int64, lastHash string) []AuditFault {
	c.ends.LastID, c.ends.LastHash = lastID, lastHash
	return c.End()
}

// End checks the end of the chain and returns all faults, ordered by entry.
func (c *AuditCheck) End() []AuditFault {
	switch {
	case c.lastID < c.ends.LastID:
		c.fault(c.lastID+1, "%s missing at the end", entries(c.lastID+1, c.ends.LastID))
	case c.lastID > c.ends.LastID:
		c.fault(c.ends.LastID+1, "%s not written by Muster", entries(c.ends.LastID+1, c.lastID))
	case c.lastHash != c.ends.LastHash && !c.altered:
		from := max(c.proven+1, c.ends.FirstID)
		c.fault(from, "%s not as Muster wrote them: one was rewritten, and those after it", entries(from, c.lastID))
	}
	if n := len(c.heads); n > 0 && c.heads[n-1].ID > max(c.lastID, c.ends.LastID) {
		c.fault(c.lastID+1, "%s missing at the end: a head was signed at entry %d", entries(c.lastID+1, c.heads[n-1].ID),
			c.heads[n-1].ID)
	}
	slices.SortStableFunc(c.Faults, func(a, b AuditFault) int { return int(a.ID - b.ID) })
	return c.Faults
}

// AuditHead is a signed statement of what the last entry of the audit was at a time.
type AuditHead struct {
	ID        int64 // ID of the last entry
	Hash      string
	At        time.Time
	Signature []byte // Ed25519 signature of SignedText
}

// SignedText returns the bytes that are signed.
func (h AuditHead) SignedText() []byte {
	return fmt.Appendf(nil, "muster audit head 1\n%d\n%d\n%s\n", h.ID, h.At.UnixMilli(), h.Hash)
}

// SignedBy reports whether the key has signed the head.
func (h AuditHead) SignedBy(key ed25519.PublicKey) bool {
	return len(key) == ed25519.PublicKeySize && ed25519.Verify(key, h.SignedText(), h.Signature)
}

// String returns the head as one word: ID, time in milliseconds since 1970, hash and signature.
func (h AuditHead) String() string {
	return fmt.Sprintf("%d:%d:%s:%s", h.ID, h.At.UnixMilli(), h.Hash, base64.RawURLEncoding.EncodeToString(h.Signature))
}

// ParseAuditHead parses what String returned.
func ParseAuditHead(text string) (h AuditHead, err error) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) != 4 {
		return h, notAHead(nil)
	}
	var millis int64
	if h.ID, err = strconv.ParseInt(parts[0], 10, 64); err != nil {
		return h, notAHead(err)
	}
	if millis, err = strconv.ParseInt(parts[1], 10, 64); err != nil {
		return h, notAHead(err)
	}
	h.At, h.Hash = time.UnixMilli(millis).UTC(), parts[2]
	if h.Signature, err = base64.RawURLEncoding.DecodeString(parts[3]); err != nil {
		return h, notAHead(err)
	}
	return h, nil
}

func notAHead(cause error) error {
	e := Invalidf("head", "this is no head of the audit: it reads ID:TIME:HASH:SIGNATURE")
	e.Hint, e.Err = "Copy it whole from the log line \"audit head\", or from `muster audit head`.", cause
	return e
}
