/** Matches one filter with one person: properties by OPERATORS, cohorts by list or tree, flags by their value. */
import type { CohortNode } from './cohort.ts'
import { FlagFailure } from './failure.ts'
import type { CompiledFilter, PropertyFilter } from './filter.ts'
import { type FlagProperties, ownProperty } from './operators/value.ts'
import { valueOf } from './result.ts'
import type { Subject } from './subject.ts'

const NO_PROPERTIES: FlagProperties = {}

/** Whether the filter holds. Throws FlagFailure if it cannot be evaluated. */
export function matchesFilter(filter: CompiledFilter, subject: Subject): boolean {
  subject.work.charge(1)
  switch (filter.kind) {
    case 'property':
      return matchesProperty(filter, subject)
    case 'cohort':
      return isInCohort(filter.cohort_id, filter.is_negated, subject)
    case 'flag':
      return hasExpectedValue(filter.flag_index, filter.expected, subject)
    case 'broken':
      subject.has_errors = true
      return false
  }
}

/** Evaluates a property filter once per evaluation, however many flags have it. */
function matchesProperty(filter: PropertyFilter, subject: Subject): boolean {
  const cached = subject.filter_answers[filter.slot]
  if (cached) return cached === 2
  const answer = testProperty(filter, subject)
  subject.filter_answers[filter.slot] = answer ? 2 : 1
  return answer
}

function testProperty(filter: PropertyFilter, subject: Subject): boolean {
  const { person, work } = subject
  const { source, key } = filter
  const properties =
    source === 'person'
      ? person.person_properties
      : (subject.groups[source]?.properties ?? NO_PROPERTIES)
  const value = filter.is_inherited ? ownProperty(properties, key) : properties[key]
  if (value !== undefined) return filter.test(value, person.now, work)
  // Every person has the property `distinct_id`, even without stored properties.
  if (key === 'distinct_id' && source === 'person') {
    return filter.test(subject.distinct_id, person.now, work)
  }
  requireKnown(source, subject)
  return filter.matches_missing
}

/** Throws if the property may be stored where an edge cannot see it. */
function requireKnown(source: PropertyFilter['source'], { person, groups }: Subject): void {
  const { unknown } = person
  if (unknown === undefined) return
  const is_unknown =
    source === 'person' ? unknown.person : unknown.groups.includes(source) && groups[source]
  if (is_unknown) throw new FlagFailure('store_unavailable')
}

/** Whether a person is in a cohort, or is not. A missing cohort has neither members nor non-members. */
function isInCohort(cohort_id: number, is_negated: boolean, subject: Subject): boolean {
  const cohort = subject.cohorts.get(cohort_id)
  if (!cohort) return false
  switch (cohort.kind) {
    case 'broken':
      throw new FlagFailure(cohort.code)
    case 'members':
      if (subject.person.is_store_unavailable || subject.person.unknown?.person)
        throw new FlagFailure('store_unavailable')
      return subject.person.isInCohort(cohort_id) !== is_negated
    case 'tree': {
      const cached = subject.cohort_answers.get(cohort_id)
      const answer = cached ?? matchesNode(cohort.root, subject)
      if (cached === undefined) subject.cohort_answers.set(cohort_id, answer)
      return answer !== is_negated
    }
  }
}

/** Matches a tree. The recursion is bounded: cohorts with deep trees or long chains are refused. */
function matchesNode(node: CohortNode, subject: Subject): boolean {
  subject.work.charge(1)
  switch (node.kind) {
    case 'all':
      return node.nodes.every((part) => matchesNode(part, subject))
    case 'any':
      return node.nodes.some((part) => matchesNode(part, subject))
    case 'leaf': {
      // A broken filter does not match, negated or not.
      const is_negated = node.is_negated && node.filter.kind !== 'broken'
      return matchesFilter(node.filter, subject) !== is_negated
    }
  }
}

/** Whether a flag has a value: `true` means on in any variant, `false` off, a text that variant. */
function hasExpectedValue(
  flag_index: number,
  expected: boolean | string,
  subject: Subject,
): boolean {
  const result = subject.results[flag_index]
  if (!result || result.is_failed) throw new FlagFailure('missing_dependency')
  return expected === true ? result.enabled : valueOf(result) === expected
}
