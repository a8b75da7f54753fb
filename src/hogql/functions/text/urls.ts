/** URLS: parts of URLs. */

import { bindInt, NULL_VALUE, sql } from '../../sql/sql-fragments.ts'
import { arrayType, intType, STRING, type Type } from '../../types/types.ts'
import { asDeclared, type FunctionDef, type Lowering, nonNull, scalar } from '../definition.ts'

const UINT16 = intType(16, false)
const text = asDeclared(STRING)
const texts: Type = arrayType(STRING)

/** One parameter, or each of a list. */
const cutParameters: Lowering = ({ args, type }) => {
  const [url = NULL_VALUE, names = NULL_VALUE] = args
  return names.type.kind === 'array'
    ? sql`list_reduce(list_prepend(${url}, ${names}), lambda u, n: ch_cut_param(u, n))`(type)
    : sql`ch_cut_param(${url}, ${names})`(type)
}

/** URL functions; '' for missing parts. Adding one means adding a line. */
export const URLS: readonly FunctionDef[] = [
  scalar('protocol', '1', text, "regexp_extract($1, '^([a-zA-Z][a-zA-Z0-9+.-]*):', 1)"),
  scalar('domain', '1', text, 'ch_domain($1)'),
  scalar('domainWithoutWWW', '1', text, "regexp_replace(ch_domain($1), '^www\\.', '')"),
  scalar('topLevelDomain', '1', text, 'ch_tld($1)'),
  scalar('firstSignificantSubdomain', '1', text, 'ch_first_sig($1)'),
  scalar('cutToFirstSignificantSubdomain', '1', text, 'ch_cut_sig($1)'),
  scalar('cutToFirstSignificantSubdomainWithWWW', '1', text, 'ch_cut_sig_www($1)'),
  scalar('port', '1-2', asDeclared(UINT16), (call) =>
    sql`coalesce(ch_port(${call.args[0] ?? NULL_VALUE}), ${call.args[1] ?? bindInt(0)})`(call.type),
  ),
  scalar('path', '1', text, 'ch_path($1)'),
  scalar('pathFull', '1', text, 'ch_path_full($1)'),
  scalar('queryString', '1', text, "regexp_extract($1, '\\?([^#]*)', 1)"),
  scalar('fragment', '1', text, "regexp_extract($1, '#(.*)$', 1)"),
  scalar('queryStringAndFragment', '1', text, 'ch_qsf($1)'),
  scalar('extractURLParameter', '2', text, 'ch_url_param($1, $2)'),
  scalar(
    'extractURLParameters',
    '1',
    nonNull(texts),
    "regexp_extract_all($1, '[?&#]([^?&#=]+=[^&#]*)', 1)",
  ),
  scalar(
    'extractURLParameterNames',
    '1',
    nonNull(texts),
    "regexp_extract_all($1, '[?&#]([^?&#=]+)=', 1)",
  ),
  scalar('URLHierarchy', '1', nonNull(texts), 'ch_url_hierarchy($1)'),
  scalar('URLPathHierarchy', '1', nonNull(texts), 'ch_url_path_hierarchy($1)'),
  scalar('encodeURLComponent', '1', text, 'url_encode($1)'),
  scalar('decodeURLComponent', '1', text, 'url_decode($1)'),
  scalar('encodeURLFormComponent', '1', text, "replace(url_encode($1), '%20', '+')"),
  scalar('decodeURLFormComponent', '1', text, "url_decode(replace($1, '+', ' '))"),
  scalar('netloc', '1', text, "regexp_extract(ch_after_scheme($1), '^[^/?#]*')"),
  scalar(
    'cutWWW',
    '1',
    text,
    "regexp_replace($1, '^((?:[a-zA-Z][a-zA-Z0-9+.-]*:)?//)?www\\.', '\\1')",
  ),
  scalar('cutQueryString', '1', text, "regexp_replace($1, '\\?[^#]*', '')"),
  scalar('cutFragment', '1', text, "regexp_replace($1, '#.*$', '')"),
  scalar('cutQueryStringAndFragment', '1', text, "regexp_replace($1, '[?#].*$', '')"),
  scalar('cutURLParameter', '2', text, cutParameters),
]
