/** Prints what the engines agree on, function by function, and the sums. */

import { functionNames } from '../../src/hogql/functions/registry.ts'
import type { Finding, Outcome } from './agreement.ts'
import { DIFFERENCES } from './differences.ts'

const SHOWN_OF_ONE = 3

/** Every disagreement without a listed reason, a few of each function; what is missing or answered by us alone in one line. */
export function printFindings(findings: readonly Finding[]): void {
  const shown = new Map<string, number>()
  for (const finding of findings) {
    const { outcome, name, hogql, timezone } = finding
    if (outcome !== 'differ' && outcome !== 'missing') continue
    const count = shown.get(name) ?? 0
    shown.set(name, count + 1)
    if (count >= SHOWN_OF_ONE) continue
    if (outcome === 'missing') console.log(`missing ${name}: ${hogql} ${finding.ours}`)
    else
      console.log(
        `${name}: ${hogql} in ${timezone}\n  ours   ${finding.ours}\n  theirs ${finding.theirs}`,
      )
  }
}

/** One line per function, then the sums. */
export function printTable(findings: readonly Finding[]): void {
  const by_name = Map.groupBy(findings, (finding) => finding.name)
  for (const [name, all] of [...by_name].toSorted(([left], [right]) => left.localeCompare(right))) {
    const sums = [...countOutcomes(all)].map(([outcome, count]) => `${outcome} ${count}`)
    console.log(`${name.padEnd(40)} ${sums.join(', ')}`)
  }
  printSums(findings, by_name)
}

function countOutcomes(findings: readonly Finding[]): ReadonlyMap<Outcome, number> {
  const of = new Map<Outcome, number>()
  for (const { outcome } of findings) of.set(outcome, (of.get(outcome) ?? 0) + 1)
  return of
}

function printSums(
  findings: readonly Finding[],
  by_name: ReadonlyMap<string, readonly Finding[]>,
): void {
  const functions = [...by_name].filter(([name]) => name !== 'queries')
  const having = (outcome: Outcome): number =>
    functions.filter(([, all]) => all.some((finding) => finding.outcome === outcome)).length
  const verified = functions.filter(([, all]) =>
    all.some(({ outcome }) => outcome === 'agree' || outcome === 'type'),
  ).length
  const known = [...functionNames()]
  const not_run = known.filter((name) => !by_name.has(name))
  console.log(
    `\nvectors and queries: ${[...countOutcomes(findings)].map((sum) => sum.join(' ')).join(', ')}`,
  )
  console.log(
    `functions: ${known.length} names in the registry, ${verified} verified, ${having('listed')} of them with listed differences, ` +
      `${having('type')} with another type name, ${having('missing')} missing, ${having('differ')} in disagreement`,
  )
  console.log(`without vectors of their own: ${not_run.length} (${not_run.join(' ')})`)
  const used = new Set(findings.map((finding) => finding.reason))
  for (const { names, reason } of DIFFERENCES)
    if (!used.has(reason))
      console.log(`listed, but not seen in this run: ${names.source}: ${reason}`)
}
