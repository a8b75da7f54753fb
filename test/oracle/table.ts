/** Prints what the engines agree on, function by function. */

import type { Finding, Outcome } from './agreement.ts'

/** Every disagreement without a listed reason, three of each function. */
export function printFindings(findings: readonly Finding[]): void {
  const shown = new Map<string, number>()
  for (const finding of findings) {
    if (finding.outcome !== 'differ') continue
    const count = shown.get(finding.name) ?? 0
    shown.set(finding.name, count + 1)
    if (count >= 3 && finding.name !== 'questions') continue
    console.log(
      `${finding.name}: ${finding.hogql} in ${finding.timezone}\n  ours   ${finding.ours}\n  theirs ${finding.theirs}`,
    )
  }
}

/** One line per function, and the sums. */
export function printTable(findings: readonly Finding[]): void {
  const sums = new Map<string, Map<Outcome, number>>()
  for (const { name, outcome } of findings) {
    const of = sums.get(name) ?? new Map<Outcome, number>()
    of.set(outcome, (of.get(outcome) ?? 0) + 1)
    sums.set(name, of)
  }
  for (const [name, of] of [...sums].toSorted(([left], [right]) => left.localeCompare(right))) {
    console.log(
      `${name.padEnd(40)} ${[...of].map(([outcome, count]) => `${outcome} ${count}`).join(', ')}`,
    )
  }
}
