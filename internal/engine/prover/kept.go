package prover

import (
	"context"
	"slices"
	"time"

	"muster/internal/core/copies"
	"muster/internal/logkey"
)

// Kept keeps what is proven over a start of the server.
type Kept interface {
	// FolderProofs returns what is kept of a folder; nil: nothing.
	FolderProofs(ctx context.Context, folder string) ([]byte, error)
	PutFolderProofs(ctx context.Context, folder string, proofs []byte) error
}

// restore reads the stored ledger of a folder once. What it says is of its time, and not of now.
func (p *Prover) restore(ctx context.Context, id string, f *folder) error {
	if f.isRead || p.o.Kept == nil {
		return nil
	}
	body, err := p.o.Kept.FolderProofs(ctx, id)
	if err != nil {
		return err
	}
	if f.isRead = true; body == nil {
		return nil
	}
	ledger, err := copies.DecodeLedger(body)
	if err != nil {
		p.o.Log.Warn("what was proven of a folder earlier is not readable", logkey.Folder, id, logkey.Err(err))
		return nil
	}
	f.ledger = ledger
	return nil
}

// keep stores the ledger of a folder. What cannot be stored is forgotten when the server stops.
func (p *Prover) keep(ctx context.Context, id string, f *folder) {
	if p.o.Kept == nil {
		return
	}
	body, err := f.ledger.Encode(p.o.Now())
	if err == nil {
		err = p.o.Kept.PutFolderProofs(ctx, id, body)
	}
	if err != nil {
		p.o.Log.Warn("what is proven of a folder is not stored", logkey.Folder, id, logkey.Err(err))
	}
}

// Figure is what is proven of a folder in numbers.
type Figure struct {
	Folder string
	Copies int           // devices that were proven to hold everything at the last round
	Open   time.Duration // time for which not everything has been proven; 0: no change is known since all was
}

// Figures returns the numbers of the folders that were asked about lately.
func (p *Prover) Figures() (figures []Figure) {
	p.mu.Lock()
	folders := make(map[string]*folder, len(p.folders))
	for id, f := range p.folders {
		folders[id] = f
	}
	p.mu.Unlock()
	for id, f := range folders {
		if figure, isKnown := p.figure(id, f); isKnown {
			figures = append(figures, figure)
		}
	}
	return figures
}

func (p *Prover) figure(id string, f *folder) (figure Figure, isKnown bool) {
	f.mu.Lock()
	report, since := f.report, f.provenAt
	if since.IsZero() {
		since = f.firstAt
	}
	f.mu.Unlock()
	if since.IsZero() {
		return figure, false
	}
	figure = Figure{Folder: id, Copies: report.Proven()}
	if !report.isComplete() || p.isChanged(id, report) {
		figure.Open = max(p.o.Now().Sub(since), 0)
	}
	return figure, true
}

// isChanged tells whether an event told of a change since a report.
func (p *Prover) isChanged(folder string, report Report) bool {
	return !slices.Equal(p.signs(folder, report.devices()), report.signs)
}
