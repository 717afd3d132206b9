import { LEDGER_SCENARIOS } from './ledger-scenarios.ts';
import { testScenarios } from './scenario-suite.ts';

testScenarios('The ledger keeps its promises:', LEDGER_SCENARIOS);
