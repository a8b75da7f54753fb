/** Query variables of a project: list, create, read, change, delete. */

import {
  NewVariable,
  VariableAnswer,
  VariableChange,
  VariablePage,
} from '../../contract/analytics/insight-variables.ts'
import { PageQuery } from '../../contract/common.ts'
import {
  createVariable,
  deleteVariable,
  getVariable,
  listVariables,
  updateVariable,
  type Variable,
  type VariableChanges,
} from '../../dashboards/variable.ts'
import type { Json } from '../../projects/tables.ts'
import { answerJson } from '../answers.ts'
import type { AppContext } from '../app-context.ts'
import { answerPage } from '../pages.ts'
import { parseUuidId } from '../path-ids.ts'
import { projectRoute } from '../route.ts'
import { sentMembers } from '../sent-members.ts'
import { validatorOf } from '../shape.ts'
import { authorFinder } from '../targeting/authors.ts'
import { boardEditor } from './insights.ts'

const NEW_VARIABLE = validatorOf(NewVariable)
const VARIABLE_CHANGE = validatorOf(VariableChange)

export const VARIABLE_ROUTES = [
  projectRoute({
    method: 'GET',
    path: 'insight_variables/',
    scope: 'insight:read',
    summary: "List the project's variables, which questions name as {variables.code_name}.",
    query: PageQuery,
    answers: { 200: VariablePage },
    answer: (app, { request, project }) => {
      const result = listVariables(app.control, project.id)
      return answerPage(request, app.publicUrl(), result, variableSerializer(app))
    },
  }),
  projectRoute({
    method: 'POST',
    path: 'insight_variables/',
    scope: 'insight:write',
    summary: 'Make a variable; its code name is made of its name and stays.',
    body: NEW_VARIABLE,
    answers: { 201: VariableAnswer },
    answer: (app, { body, project, caller }) => {
      const wanted = { ...readVariableChanges(body), name: body.name, type: body.type }
      const variable = createVariable(boardEditor(app, project, caller), wanted, app.now())
      return answerJson(variableSerializer(app)(variable), 201)
    },
  }),
  projectRoute({
    method: 'GET',
    path: 'insight_variables/:id/',
    scope: 'insight:read',
    summary: 'Read a variable.',
    answers: { 200: VariableAnswer },
    answer: (app, { params, project }) => {
      const variable = getVariable(app.control, project.id, parseUuidId(params))
      return answerJson(variableSerializer(app)(variable))
    },
  }),
  projectRoute({
    method: 'PATCH',
    path: 'insight_variables/:id/',
    scope: 'insight:write',
    summary: 'Change a variable; questions go on naming it as before.',
    body: VARIABLE_CHANGE,
    answers: { 200: VariableAnswer },
    answer: (app, { body, params, project, caller }) => {
      const before = getVariable(app.control, project.id, parseUuidId(params))
      const editor = boardEditor(app, project, caller)
      const variable = updateVariable(editor, before, readVariableChanges(body), app.now())
      return answerJson(variableSerializer(app)(variable))
    },
  }),
  projectRoute({
    method: 'DELETE',
    path: 'insight_variables/:id/',
    scope: 'insight:write',
    summary: 'Delete a variable for good.',
    answers: { 204: null },
    answer: (app, { params, project, caller }) => {
      const variable = getVariable(app.control, project.id, parseUuidId(params))
      deleteVariable(boardEditor(app, project, caller), variable, app.now())
      return new Response(null, { status: 204 })
    },
  }),
] as const

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
