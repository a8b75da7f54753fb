/** Finds the definitions of a project that an insight query names: its answer depends on these besides the query. */
import { ACTION_WORD, wordsOfText } from '../../hogql/syntax/named-words.ts'

type NamedDefinitions = {
  readonly has_test_accounts: boolean
  readonly has_actions: boolean
  readonly has_path_cleaning: boolean
  readonly has_display_names: boolean
}

type NamingMember = {
  readonly names: keyof NamedDefinitions
  readonly isNaming: (key: string, value: unknown) => boolean
}

const PATH_CLEANING_SWITCHES = new Set([
  'breakdown_path_cleaning',
  'doPathCleaning',
  'pathReplacements',
])

/** The members of a query, at any depth, that name a definition. One that is missing here leaves stale answers in the cache. */
const NAMING_MEMBERS: readonly NamingMember[] = [
  {
    names: 'has_test_accounts',
    isNaming: (key, value) => key === 'filterTestAccounts' && value === true,
  },
  { names: 'has_actions', isNaming: (key, value) => key === 'kind' && value === 'ActionsNode' },
  { names: 'has_actions', isNaming: (key, value) => key === 'type' && value === 'actions' },
  { names: 'has_actions', isNaming: (key) => key === 'actionId' },
  // Any text of a query may be HogQL.
  {
    names: 'has_actions',
    isNaming: (_, value) => typeof value === 'string' && wordsOfText(value).has(ACTION_WORD),
  },
  {
    names: 'has_display_names',
    isNaming: (key, value) =>
      (key === 'select' || key === 'orderBy') &&
      typeof value === 'string' &&
      value.trimStart().startsWith('person_display_name'),
  },
  { names: 'has_path_cleaning', isNaming: (key) => PATH_CLEANING_SWITCHES.has(key) },
  {
    names: 'has_path_cleaning',
    isNaming: (key, value) => key === 'operator' && value === 'is_cleaned_path_exact',
  },
]

/** Reads which definitions a validated query names. */
export function namedDefinitions(query: object): NamedDefinitions {
  const named = {
    has_test_accounts: false,
    has_actions: false,
    has_path_cleaning: false,
    has_display_names: false,
  }
  const waiting: (readonly [string, unknown])[] = [['', query]]
  for (let member = waiting.pop(); member !== undefined; member = waiting.pop()) {
    const [key, value] = member
    for (const { names, isNaming } of NAMING_MEMBERS) {
      if (!named[names] && isNaming(key, value)) named[names] = true
    }
    // An item of a list counts as its member.
    if (Array.isArray(value)) for (const item of value) waiting.push([key, item])
    else if (typeof value === 'object' && value !== null) {
      for (const inner of Object.entries(value)) waiting.push(inner)
    }
  }
  return named
}
