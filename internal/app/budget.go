package app

import (
	"muster/internal/budget"
	"muster/internal/logkey"
)

// logBudget says how the limits of the process are shared out.
func (a *App) logBudget() {
	log := a.log.With(logkey.Component, "budget")
	log.Info("open files are shared out", logkey.Limit, a.budget.Limit,
		"followedDaemons", a.budget.Kept, "clients", a.budget.API)
	if heap := budget.SetMemory(); heap > 0 {
		log.Info("the memory of the container is limited", "heapBytes", heap)
	}
}
