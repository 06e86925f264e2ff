"""Encodes requests to CopilotKit's remote endpoints and decodes the JSON lines of their agents.

descriptions  an endpoint's list of actions and agents
request       an ask → the request to an agent
messages      messages that an agent did not stream → events
langgraph     lines of an agent of type `langgraph`: LangChain's events and CopilotKit's own
runtime       lines of an agent of type `crewai`: events of CopilotKit's runtime
"""
