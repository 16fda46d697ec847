package fleet

// Part is a part of the service that may stop working while the rest goes on.
type Part string

// The parts that are watched.
const (
	PartDatabase    Part = "database"
	PartLock        Part = "databaseLock"
	PartWorkers     Part = "workers"
	PartDescriptors Part = "descriptors"
	PartBackup      Part = "backup"
	PartCertificate Part = "certificate" // of the API
	PartProofs      Part = "proofs"      // that show whether the database is as Muster wrote it
	PartSignOn      Part = "singleSignOn"
)

// Parts are all of them.
var Parts = []Part{
	PartDatabase, PartLock, PartWorkers, PartDescriptors, PartBackup, PartCertificate, PartProofs,
	PartSignOn,
}

// Impairment says that a part of the service does not work as it should.
type Impairment struct {
	Part     Part
	Blocking bool   // the service cannot do its work, as opposed to doing it worse
	Reason   string // for a person; no secrets
	Next     string // what the person can do
}
