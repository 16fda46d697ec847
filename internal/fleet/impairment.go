package fleet

// Part is a part of the service that may fail while the rest works.
type Part string

// The parts that Muster checks.
const (
	PartDatabase    Part = "database"
	PartLock        Part = "databaseLock"
	PartWorkers     Part = "workers"
	PartDescriptors Part = "descriptors"
	PartBackup      Part = "backup"
	PartCertificate Part = "certificate" // certificate of the API
	PartProofs      Part = "proofs"      // marks of rows in the database, which show whether another program changed them
	PartSignOn      Part = "singleSignOn"
	PartNotify      Part = "notifications"
	PartSinks       Part = "sinks"  // places outside that take nothing
	PartCopies      Part = "copies" // policies of copies that cannot be judged
)

// Parts lists all parts.
var Parts = []Part{
	PartDatabase, PartLock, PartWorkers, PartDescriptors, PartBackup, PartCertificate, PartProofs,
	PartSignOn, PartNotify, PartSinks, PartCopies,
}

// Impairment says that a part of the service does not work properly.
type Impairment struct {
	Part     Part
	Blocking bool   // the service cannot do its work at all
	Reason   string // sentence for people; no secrets
	Next     string // next step for a person
}
