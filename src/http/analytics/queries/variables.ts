/** Query variables of a project: list, create, read, change, delete. */

import {
  NewVariable,
  VariableAnswer,
  VariableChange,
  VariablePage,
} from '../../../contract/analytics/insight-variables.ts'
import { PageQuery } from '../../../contract/common.ts'
import {
  createVariable,
  deleteVariable,
  getVariable,
  readVariables,
  updateVariable,
  type Variable,
  type VariableChanges,
} from '../../../dashboards/variable.ts'
import type { Json } from '../../../projects/tables.ts'
import type { AppContext } from '../../app-context.ts'
import { sentMembers } from '../../bodies/sent-members.ts'
import { validatorOf } from '../../bodies/shape.ts'
import { authorFinder } from '../../callers/authors.ts'
import { boardEditor } from '../../callers/editors.ts'
import { parseUuidId } from '../../path-ids.ts'
import { resource } from '../../resource.ts'

const NEW_VARIABLE = validatorOf(NewVariable)
const VARIABLE_CHANGE = validatorOf(VariableChange)

export const VARIABLE_ROUTES = resource({
  path: 'insight_variables/',
  resource: 'insight',
  answer: VariableAnswer,
  find: (app, project, params) => getVariable(app.control, project.id, parseUuidId(params)),
  serializer: variableSerializer,
  list: {
    summary: "List the project's variables, which queries name as {variables.code_name}.",
    query: PageQuery,
    answer: VariablePage,
    items: (app, { project }) => readVariables(app.control, project.id),
  },
  create: {
    summary: 'Create a variable; its code name is derived from its name and never changes.',
    body: NEW_VARIABLE,
    run: (app, { body, project, caller }) => {
      const wanted = { ...readVariableChanges(body), name: body.name, type: body.type }
      return createVariable(boardEditor(app, project, caller), wanted, app.now())
    },
  },
  read: { summary: 'Read a variable.' },
  change: {
    summary: 'Change a variable; its code name stays the same.',
    body: VARIABLE_CHANGE,
    run: (app, { body, project, caller }, before) =>
      updateVariable(
        boardEditor(app, project, caller),
        before,
        readVariableChanges(body),
        app.now(),
      ),
  },
  remove: {
    summary: 'Delete a variable permanently.',
    run: (app, { project, caller }, variable) =>
      deleteVariable(boardEditor(app, project, caller), variable, app.now()),
  },
})

/** Returns a function that serializes variables during one request. */
function variableSerializer(app: AppContext): (variable: Variable) => object {
  const nameAuthor = authorFinder(app)
  return ({ project_id: _project, ...variable }) => ({
    ...variable,
    created_by: nameAuthor(variable.created_by),
  })
}

/** Reads the stored members from a body. */
function readVariableChanges(body: VariableChange): VariableChanges {
  const wanted = {
    name: body.name,
    type: body.type,
    default_value: body.default_value as Json | undefined,
    values: body.values as Json | undefined,
  }
  return sentMembers(wanted)
}
