/** The names that questions may use: those of events and of their properties; ingestion writes them down. */
export type {
  EventDefinition,
  PropertyDefinition,
  PropertyOwner,
} from '../storage/definition-reader.ts'
